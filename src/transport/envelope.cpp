#include "transport/envelope.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rondo/error.hpp"

namespace rondo::transport {

std::string to_string(const Envelope& envelope) {
  return fmt::format("{} {} ({} bytes)", rondo::to_string(envelope.dtype), rondo::to_string(envelope.dims),
                     envelope.bytes);
}

bool agree(const Envelope& a, const Envelope& b) noexcept {
  const std::span<const std::int64_t> left = a.dims;
  const std::span<const std::int64_t> right = b.dims;
  return a.dtype == b.dtype && a.bytes == b.bytes &&
         std::equal(left.begin(), left.end(), right.begin(), right.end());
}

Envelope envelope_of(const Header& header) {
  return Envelope{header.root_or_tag, header.dtype, header.dims, static_cast<std::size_t>(header.count)};
}

MessageInfo info_of(int source, const Envelope& envelope) {
  const std::span<const std::int64_t> dims = envelope.dims;
  return MessageInfo{source, envelope.tag, envelope.dtype, Shape(dims.begin(), dims.end()), envelope.bytes};
}

bool consistent(const Envelope& envelope) noexcept {
  try {
    return byte_size(envelope.dtype, envelope.dims) == envelope.bytes;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace rondo::transport
