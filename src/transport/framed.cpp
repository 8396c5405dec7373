#include "transport/framed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/problem.hpp"

namespace rondo::transport {

// One direction pair to one peer on one lane.
//
// Inbound, a link is in one of three states: reading a header (`header` empty), holding one (the receiver
// said `later`), or moving a payload (`landing`). Frames are numbered by the sender; a gap or a repetition
// ends the group.
struct FramedTransport::Link {
  int peer;
  Lane lane;
  std::unique_ptr<net::Stream> stream;

  bool wanted = false;  // a stream that was not there has been asked for
  bool unmade = false;  // this rank has left without ever having had it

  Outgoing* first = nullptr;
  Outgoing* last = nullptr;
  bool out_closed = false;

  HeaderBytes head{};
  std::size_t head_have = 0;
  std::optional<Header> header;
  bool landing = false;
  bool draining = false;
  std::span<std::byte> memory;
  std::size_t payload_have = 0;
  std::uint32_t next_sequence = 0;
  bool in_closed = false;
  bool departed = false;

  void push(Outgoing& outgoing) noexcept {
    outgoing.next = nullptr;
    (last != nullptr ? last->next : first) = &outgoing;
    last = &outgoing;
  }
  void pop() noexcept {
    first = first->next;
    if (first == nullptr) last = nullptr;
  }
};

namespace {

constexpr const char* all_wires_exist = "wires of this kind are there from the start";

// What is no header is no goodbye.
bool is_goodbye(const Outgoing& outgoing) {
  try {
    return decode(std::span<const std::byte>(outgoing.head).first(outgoing.head_bytes)).kind ==
           FrameKind::goodbye;
  } catch (const base::Problem&) {
    return false;
  }
}

}  // namespace

FramedTransport::FramedTransport(int rank, Streams streams) : rank_(rank), links_(streams.size()) {
  for (std::size_t peer = 0; peer < streams.size(); ++peer) {
    if (static_cast<int>(peer) == rank) continue;
    for (int lane = 0; lane < lane_count; ++lane) {
      const auto at = static_cast<std::size_t>(lane);
      auto made = std::make_unique<Link>();
      made->peer = static_cast<int>(peer);
      made->lane = static_cast<Lane>(lane);
      made->stream = std::move(streams[peer][at]);
      open_.push_back(made.get());
      links_[peer][at] = std::move(made);
    }
  }
}

FramedTransport::~FramedTransport() { close(); }

void FramedTransport::close() noexcept {
  for (Link* each : open_) {
    close_out(*each);
    each->in_closed = true;
    if (each->stream) each->stream->shutdown();
    each->stream.reset();
  }
}

FramedTransport::Link& FramedTransport::link(int peer, Lane lane) noexcept {
  return *links_[static_cast<std::size_t>(peer)][static_cast<std::size_t>(lane)];
}

bool FramedTransport::has_departed(int peer) const noexcept {
  const auto& lanes = links_[static_cast<std::size_t>(peer)];
  return std::all_of(lanes.begin(), lanes.end(),
                     [](const auto& each) { return each && (each->departed || each->unmade); });
}

bool FramedTransport::has_departed(int peer, Lane lane) const noexcept {
  return links_[static_cast<std::size_t>(peer)][static_cast<std::size_t>(lane)]->departed;
}

const net::Stream* FramedTransport::stream(int peer, Lane lane) const noexcept {
  return links_[static_cast<std::size_t>(peer)][static_cast<std::size_t>(lane)]->stream.get();
}

void FramedTransport::attach(Lane lane, Receiver& receiver) {
  receivers_[static_cast<std::size_t>(lane)] = &receiver;
}

void FramedTransport::post(Outgoing& outgoing) {
  Link& to = link(outgoing.peer, outgoing.lane);
  outgoing.moved = 0;
  if (to.out_closed) {
    release(outgoing, Outgoing::State::failed);
    return;
  }
  if (!to.stream && !to.wanted && !ask_for(to, outgoing)) return;
  outgoing.state = Outgoing::State::queued;
  to.push(outgoing);
  if (to.first == &outgoing) pump_out(to);
}

// A wire is not made to say goodbye over it: false, and the frame is done with. Whatever the peer sends
// after this is read by nobody, as this rank leaves.
bool FramedTransport::ask_for(Link& link, Outgoing& outgoing) {
  if (!is_goodbye(outgoing)) {
    link.wanted = true;
    want(link.peer, link.lane);
    return true;
  }
  link.unmade = link.in_closed = link.out_closed = true;
  leave_unmade(link.peer, link.lane);
  release(outgoing, Outgoing::State::done);
  return false;
}

void FramedTransport::made(int peer, Lane lane, std::unique_ptr<net::Stream> stream) {
  Link& to = link(peer, lane);
  if (!to.stream && !to.in_closed) to.stream = std::move(stream);
}

void FramedTransport::not_made(int peer, Lane lane, const std::string& why) {
  Link& to = link(peer, lane);
  if (!to.stream && !to.in_closed) lost(to, fmt::format("no connection to rank {}: {}", peer, why));
}

void FramedTransport::left_unmade(int peer, Lane lane) {
  Link& from = link(peer, lane);
  if (from.departed) return;
  from.departed = from.in_closed = true;
  close_out(from);
  receivers_[static_cast<std::size_t>(lane)]->departed(peer);
}

void FramedTransport::release(Outgoing& outgoing, Outgoing::State state) noexcept {
  outgoing.state = state;
  if (outgoing.owned) delete_owned(&outgoing);
}

bool FramedTransport::pump_out(Link& link) {
  bool any = false;
  while (link.stream && link.first != nullptr && !link.out_closed) {
    Outgoing& frame = *link.first;
    const std::size_t head_left = frame.head_bytes - std::min(frame.moved, frame.head_bytes);
    const std::size_t payload_done = frame.moved - (frame.head_bytes - head_left);
    const net::Moved moved = link.stream->writev(
        std::span<const std::byte>(frame.head).subspan(frame.head_bytes - head_left, head_left),
        frame.payload.subspan(payload_done));
    if (moved.state == net::Moved::State::blocked) break;
    if (moved.state == net::Moved::State::closed) {
      close_out(link);
      return true;
    }
    any = true;
    frame.moved += moved.bytes;
    frame.state = Outgoing::State::moving;
    if (frame.moved == frame.head_bytes + frame.payload.size()) {
      link.pop();
      release(frame, Outgoing::State::done);
    }
  }
  return any;
}

// The peer will read no more: what is queued can never leave. Whether that is a lost rank or one that has
// left in order is for the inbound side to say.
void FramedTransport::close_out(Link& link) noexcept {
  link.out_closed = true;
  while (link.first != nullptr) {
    Outgoing& frame = *link.first;
    link.pop();
    release(frame, Outgoing::State::failed);
  }
}

bool FramedTransport::cancel(Outgoing& outgoing) {
  if (outgoing.state != Outgoing::State::queued && outgoing.state != Outgoing::State::moving) {
    return false;
  }
  Link& to = link(outgoing.peer, outgoing.lane);
  const bool begun = outgoing.moved > 0;
  Outgoing* stand_in = nullptr;
  if (begun) {
    stand_in =
        make_owned(outgoing.peer, outgoing.lane,
                   std::span<const std::byte>(outgoing.head).first(outgoing.head_bytes), outgoing.payload);
    stand_in->moved = outgoing.moved;
  } else {
    Header skip;
    skip.lane = outgoing.lane;
    skip.sequence = decode(std::span<const std::byte>(outgoing.head).first(outgoing.head_bytes)).sequence;
    stand_in = make_owned(outgoing.peer, outgoing.lane, skip, {});
  }
  stand_in->state = outgoing.state;
  stand_in->next = outgoing.next;
  Outgoing** at = &to.first;
  while (*at != &outgoing) at = &(*at)->next;
  *at = stand_in;
  if (to.last == &outgoing) to.last = stand_in;
  outgoing.state = Outgoing::State::failed;
  return !begun;
}

void FramedTransport::drain(int peer, Lane lane) {
  Link& from = link(peer, lane);
  if (!from.landing) return;
  from.draining = true;
  from.memory = {};
}

// Reads into memory[have..]. True when it is full.
bool FramedTransport::fill(Link& link, std::span<std::byte> memory, std::size_t& have) {
  while (have < memory.size()) {
    const net::Moved moved = link.stream->read(memory.subspan(have));
    if (moved.state == net::Moved::State::blocked) return false;
    if (moved.state == net::Moved::State::closed) {
      link.in_closed = true;
      if (!link.departed) lost(link, fmt::format("rank {} closed the connection", link.peer));
      return false;
    }
    have += moved.bytes;
  }
  return true;
}

bool FramedTransport::read_header(Link& link) {
  if (!fill(link, std::span(link.head).first(std::max(Header::fixed_bytes, link.head_have)),
            link.head_have)) {
    return false;
  }
  try {
    const auto length = header_length(link.head);
    const std::size_t wanted = length ? *length : Header::fixed_bytes;
    if (!fill(link, std::span(link.head).first(wanted), link.head_have)) return false;
    link.header = decode(std::span<const std::byte>(link.head).first(wanted));
  } catch (const base::Problem& problem) {
    lost(link, fmt::format("from rank {}, {}", link.peer, problem.what()));
    return false;
  }
  link.head_have = 0;
  if (link.header->lane != link.lane) {
    lost(link, fmt::format("a frame of the other lane arrived from rank {}", link.peer));
    return false;
  }
  if (link.header->sequence != link.next_sequence) {
    lost(link, fmt::format("frame {} from rank {} was lost or repeated: frame {} arrived", link.next_sequence,
                           link.peer, link.header->sequence));
    return false;
  }
  ++link.next_sequence;
  return true;
}

// Asks the receiver where the payload goes.
void FramedTransport::begin_frame(Link& link) {
  const Header& header = *link.header;
  link.payload_have = 0;
  if (header.kind == FrameKind::skip || header.kind == FrameKind::goodbye) {
    link.landing = link.draining = true;
    return;
  }
  const Landing landing = receivers_[static_cast<std::size_t>(link.lane)]->arriving(link.peer, header);
  if (landing.verdict == Landing::Verdict::later) return;
  link.landing = true;
  link.draining = landing.verdict == Landing::Verdict::drain;
  link.memory = landing.memory;
  RONDO_INVARIANT(link.draining || link.memory.size() == header.bytes);
}

bool FramedTransport::read_payload(Link& link) {
  const std::uint64_t total = link.header->bytes;
  while (link.draining && link.payload_have < total) {
    std::array<std::byte, 4096> nowhere;
    const std::size_t step = std::min<std::uint64_t>(nowhere.size(), total - link.payload_have);
    std::size_t have = 0;
    const bool full = fill(link, std::span(nowhere).first(step), have);
    link.payload_have += have;
    if (!full) return false;
  }
  return link.draining || fill(link, link.memory, link.payload_have);
}

void FramedTransport::finish_frame(Link& link) {
  const Header header = *link.header;
  link.header.reset();
  link.landing = link.draining = false;
  link.memory = {};
  Receiver& receiver = *receivers_[static_cast<std::size_t>(link.lane)];
  if (header.kind == FrameKind::goodbye) {
    link.departed = true;
    receiver.departed(link.peer);
  } else if (header.kind != FrameKind::skip) {
    receiver.arrived(link.peer, header);
  }
}

bool FramedTransport::pump_in(Link& link) {
  bool any = false;
  while (link.stream && !link.in_closed) {
    if (!link.header) {
      const std::size_t before = link.head_have;
      const bool complete = read_header(link);
      any = any || complete || link.head_have != before;
      if (!complete) break;
    }
    if (!link.landing) {
      begin_frame(link);
      if (!link.landing) break;
      any = true;
    }
    const std::size_t before = link.payload_have;
    const bool complete = read_payload(link);
    any = any || link.payload_have != before;
    if (!complete) break;
    finish_frame(link);
  }
  return any;
}

bool FramedTransport::poll() {
  bool any = false;
  for (Link* each : open_) {
    if (pump_in(*each)) any = true;
    if (each->first != nullptr && pump_out(*each)) any = true;
  }
  for (Receiver* each : receivers_) {
    if (each != nullptr && each->move()) any = true;
  }
  return any;
}

bool FramedTransport::poll(int peer, Lane lane) { return pump_in(link(peer, lane)); }

void FramedTransport::append_polled(std::vector<pollfd>& polled) const {
  for (const Link* each : open_) {
    const int fd = each->stream ? each->stream->descriptor() : -1;
    if (fd < 0) continue;
    // A frame that its receiver wants later stays on the wire: what is behind it is no news.
    const bool held = each->header && !each->landing;
    short events = 0;
    if (!each->in_closed && !held) events |= POLLIN;
    if (each->first != nullptr && !each->out_closed) events |= POLLOUT;
    if (events != 0) polled.push_back({fd, events, 0});
  }
}

bool FramedTransport::flushed() const {
  return std::all_of(open_.begin(), open_.end(), [](const Link* each) { return each->first == nullptr; });
}

void FramedTransport::cut(int peer) {
  for (int lane = 0; lane < lane_count; ++lane) {
    Link& each = link(peer, static_cast<Lane>(lane));
    close_out(each);
    if (each.stream) each.stream->shutdown();
    if (!each.in_closed && !each.departed) lost(each, fmt::format("the connection to rank {} was cut", peer));
  }
}

void FramedTransport::lost(Link& link, const std::string& text) {
  link.in_closed = true;
  close_out(link);
  if (link.stream) link.stream->shutdown();
  broken(link.lane, Failure{ErrorKind::disconnected, link.peer, text});
}

void FramedTransport::broken(Lane, const Failure& cause) { fail(cause); }

void FramedTransport::want(int, Lane) { base::broken_invariant(all_wires_exist, __FILE__, __LINE__); }

void FramedTransport::leave_unmade(int, Lane) { base::broken_invariant(all_wires_exist, __FILE__, __LINE__); }

}  // namespace rondo::transport
