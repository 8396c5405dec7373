#pragma once
/// A full-duplex byte stream that never blocks. Sockets, in-process pipes and (later) TLS are streams.

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo::net {

/// What a read or write came to.
struct Moved {
  enum class State : std::uint8_t {
    ok,       ///< `bytes` (at least one) have moved
    blocked,  ///< nothing could move now
    closed,   ///< nothing will ever move again: the other end is gone
  } state = State::blocked;
  std::size_t bytes = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;
  /// Reads up to memory.size() (at least 1) bytes. `closed` only after the last byte has been read.
  virtual Moved read(std::span<std::byte> memory) = 0;
  /// Writes from `first`, then from `second`; at least one byte in all.
  virtual Moved writev(std::span<const std::byte> first, std::span<const std::byte> second) = 0;
  /// Closes both directions; what was written can still be read at the other end.
  virtual void shutdown() noexcept = 0;
  /// What poll() can wait for, or -1 where something else rings.
  virtual int descriptor() const noexcept { return -1; }
};

}  // namespace rondo::net
