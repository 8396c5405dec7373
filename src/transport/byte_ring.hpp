#pragma once
/// A bounded ring of bytes with one writer and one reader, in memory that both see: threads of a process, or
/// processes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/stream.hpp"

namespace rondo::transport {

/// What both ends share; all zero is an empty ring. Counts are of bytes since the beginning.
struct RingState {
  alignas(64) std::atomic<std::uint64_t> written{0};
  std::atomic<bool> writer_closed{false};
  alignas(64) std::atomic<std::uint64_t> read{0};
  std::atomic<bool> reader_closed{false};
  std::atomic<bool> writer_waits{false};  // it found no room
};

/// One end's view of a ring. Who has moved something wakes the other end as told; nothing here sleeps. Counts
/// that make no sense (another process writes them) count as a closed ring; no byte outside is touched.
class ByteRing {
 public:
  struct Result {
    net::Moved moved;
    bool wake = false;  ///< the other end may wait for this
  };

  ByteRing(RingState& state, std::byte* memory, std::size_t capacity) noexcept
      : state_(state), memory_(memory), capacity_(capacity) {}

  /// Writes from `first`, then from `second`, as much as there is room for.
  Result write(std::span<const std::byte> first, std::span<const std::byte> second) noexcept;
  Result read(std::span<std::byte> memory) noexcept;
  /// The writer's end; what was written can still be read.
  void close_writer() noexcept { state_.writer_closed.store(true, std::memory_order_seq_cst); }
  void close_reader() noexcept { state_.reader_closed.store(true, std::memory_order_seq_cst); }

 private:
  std::size_t copy_in(std::uint64_t at, std::span<const std::byte> from, std::size_t room) noexcept;

  RingState& state_;
  std::byte* memory_;
  std::size_t capacity_;
};

}  // namespace rondo::transport
