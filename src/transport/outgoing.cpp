#include <algorithm>
#include <cstring>
#include <vector>

#include "transport/transport.hpp"

namespace rondo::transport {

namespace {

struct OwnedOutgoing : Outgoing {
  std::vector<std::byte> copy;
};

}  // namespace

Outgoing* make_owned(int peer, Lane lane, std::span<const std::byte> head,
                     std::span<const std::byte> payload) {
  auto* made = new OwnedOutgoing;
  made->peer = peer;
  made->lane = lane;
  std::memcpy(made->head.data(), head.data(), head.size());
  made->head_bytes = head.size();
  made->copy.assign(payload.begin(), payload.end());
  made->payload = made->copy;
  made->owned = true;
  return made;
}

Outgoing* make_owned(int peer, Lane lane, const Header& header, std::span<const std::byte> payload) {
  HeaderBytes head;
  const std::size_t length = encode(header, head);
  return make_owned(peer, lane, std::span<const std::byte>(head.data(), length), payload);
}

void delete_owned(Outgoing* outgoing) noexcept { delete static_cast<OwnedOutgoing*>(outgoing); }

}  // namespace rondo::transport
