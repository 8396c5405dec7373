#include "transport/byte_ring.hpp"

#include <algorithm>
#include <cstring>

namespace rondo::transport {

namespace {

using net::Moved;

constexpr auto ordered = std::memory_order_seq_cst;

// Of a write, told to the reader at once: large enough that the line of the count is not fought over.
constexpr std::size_t piece_bytes = std::size_t{16} << 10;

constexpr ByteRing::Result closed{{Moved::State::closed, 0}, false};
constexpr ByteRing::Result blocked{{Moved::State::blocked, 0}, false};

}  // namespace

std::size_t ByteRing::copy_in(std::uint64_t at, std::span<const std::byte> from, std::size_t room) noexcept {
  const std::size_t total = std::min(from.size(), room);
  if (total == 0) return 0;
  const auto begin = static_cast<std::size_t>(at % capacity_);
  const std::size_t until_wrap = std::min(total, capacity_ - begin);
  std::memcpy(memory_ + begin, from.data(), until_wrap);
  if (total > until_wrap) std::memcpy(memory_, from.data() + until_wrap, total - until_wrap);
  return total;
}

ByteRing::Result ByteRing::write(std::span<const std::byte> first,
                                 std::span<const std::byte> second) noexcept {
  // In one order with all that the reader does before it rings: see Bell::nudge.
  if (state_.reader_closed.load(ordered)) return closed;
  const std::uint64_t at = state_.written.load(std::memory_order_relaxed);
  std::uint64_t used = at - state_.read.load(std::memory_order_acquire);
  if (used > capacity_) return closed;
  if (used == capacity_) {
    // Ordered against read(): either the reader sees the flag, or we see the room it made.
    state_.writer_waits.store(true, ordered);
    used = at - state_.read.load(ordered);
    if (used > capacity_) return closed;
    if (used == capacity_) return blocked;
  }
  const std::size_t room = capacity_ - static_cast<std::size_t>(used);
  std::size_t moved = copy_in(at, first, room);
  // The reader begins while the rest is being copied.
  for (; second.size() > piece_bytes && room - moved > piece_bytes; second = second.subspan(piece_bytes)) {
    moved += copy_in(at + moved, second.first(piece_bytes), piece_bytes);
    state_.written.store(at + moved, std::memory_order_release);
  }
  moved += copy_in(at + moved, second, room - moved);
  state_.written.store(at + moved, ordered);
  return {{Moved::State::ok, moved}, true};
}

ByteRing::Result ByteRing::read(std::span<std::byte> memory) noexcept {
  const std::uint64_t at = state_.read.load(std::memory_order_relaxed);
  // Closed is looked at before the count: nothing follows it.
  const bool ended = state_.writer_closed.load(ordered);
  const std::uint64_t there = state_.written.load(ordered) - at;
  if (there > capacity_) return closed;
  const std::size_t total = std::min(memory.size(), static_cast<std::size_t>(there));
  if (total == 0) return ended ? closed : blocked;
  const auto begin = static_cast<std::size_t>(at % capacity_);
  const std::size_t until_wrap = std::min(total, capacity_ - begin);
  std::memcpy(memory.data(), memory_ + begin, until_wrap);
  if (total > until_wrap) std::memcpy(memory.data() + until_wrap, memory_, total - until_wrap);
  state_.read.store(at + total, ordered);
  const bool waited = state_.writer_waits.load(ordered) && state_.writer_waits.exchange(false, ordered);
  return {{Moved::State::ok, total}, waited};
}

}  // namespace rondo::transport
