#pragma once
/// Memory that all ranks of a transport address, for flat algorithms.

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo::transport {

class Arena {
 public:
  virtual ~Arena() = default;

  /// Data of `rank`: everybody reads, only the owner writes. The same size for every rank, a multiple of 256,
  /// aligned to 64.
  virtual std::span<std::byte> slot(int rank) noexcept = 0;
  /// Two lines of Header::fixed_bytes bytes (64) per rank, for stamps; used in turn.
  virtual std::span<std::byte> line(int rank, unsigned turn) noexcept = 0;
  /// Own step counter := step, after all that was written before (release), and wakes who waits for it.
  virtual void publish(std::uint64_t step) = 0;
  /// Step of `rank`; what it wrote before publishing that step is visible (acquire).
  virtual std::uint64_t reached(int rank) const noexcept = 0;
};

}  // namespace rondo::transport
