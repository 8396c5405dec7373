#include "transport/sim/pipe.hpp"

#include <algorithm>
#include <cstring>

namespace rondo::transport::sim {

Pipe::Pipe(std::size_t capacity, base::Event& reader, base::Event& writer)
    : capacity_(capacity), reader_(reader), writer_(writer) {}

std::size_t Pipe::copy_in(std::uint64_t at, std::span<const std::byte> from, std::size_t room) noexcept {
  const std::size_t total = std::min(from.size(), room);
  if (total == 0) return 0;
  const auto begin = static_cast<std::size_t>(at % capacity_);
  const std::size_t until_wrap = std::min(total, capacity_ - begin);
  std::memcpy(ring_.get() + begin, from.data(), until_wrap);
  if (total > until_wrap) std::memcpy(ring_.get(), from.data() + until_wrap, total - until_wrap);
  return total;
}

net::Moved Pipe::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  if (reader_closed_.load(std::memory_order_acquire)) return {net::Moved::State::closed, 0};
  if (!ring_) ring_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  const std::uint64_t at = written_.load(std::memory_order_relaxed);
  std::size_t room = capacity_ - static_cast<std::size_t>(at - read_.load(std::memory_order_acquire));
  if (room == 0) {
    // Ordered against read(): either the reader sees the flag, or we see the room it made.
    writer_waits_.store(true, std::memory_order_seq_cst);
    room = capacity_ - static_cast<std::size_t>(at - read_.load(std::memory_order_seq_cst));
    if (room == 0) return {net::Moved::State::blocked, 0};
  }
  std::size_t moved = copy_in(at, first, room);
  moved += copy_in(at + moved, second, room - moved);
  written_.store(at + moved, std::memory_order_release);
  reader_.ring();
  return {net::Moved::State::ok, moved};
}

net::Moved Pipe::read(std::span<std::byte> memory) {
  const std::uint64_t at = read_.load(std::memory_order_relaxed);
  const bool closed = writer_closed_.load(std::memory_order_acquire);  // before written_: nothing follows it
  const auto there = static_cast<std::size_t>(written_.load(std::memory_order_acquire) - at);
  const std::size_t total = std::min(memory.size(), there);
  if (total == 0) return {closed ? net::Moved::State::closed : net::Moved::State::blocked, 0};
  const auto begin = static_cast<std::size_t>(at % capacity_);
  const std::size_t until_wrap = std::min(total, capacity_ - begin);
  std::memcpy(memory.data(), ring_.get() + begin, until_wrap);
  if (total > until_wrap) std::memcpy(memory.data() + until_wrap, ring_.get(), total - until_wrap);
  read_.store(at + total, std::memory_order_seq_cst);
  if (writer_waits_.exchange(false, std::memory_order_seq_cst)) writer_.ring();
  return {net::Moved::State::ok, total};
}

void Pipe::close_writer() noexcept {
  writer_closed_.store(true, std::memory_order_release);
  reader_.ring();
}

void Pipe::close_reader() noexcept {
  reader_closed_.store(true, std::memory_order_release);
  writer_.ring();
}

}  // namespace rondo::transport::sim
