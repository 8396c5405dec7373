#pragma once
/// Memory of another process of this machine, read by the kernel in one copy.

#include <cstddef>
#include <cstdint>
#include <span>

namespace rondo::base {

/// A run of memory in another process, and where its bytes go here.
struct RemotePiece {
  std::uint64_t address = 0;
  std::span<std::byte> into;
};

/// Copies all pieces, at most 8, in their order. Returns 0, or an errno: EPERM where the system forbids it,
/// EFAULT where not all of it is memory, ESRCH when there is no such process, ENOSYS where there is no such
/// call. What had been copied before a failure stays. Any thread.
int read_process_memory(int pid, std::span<const RemotePiece> pieces) noexcept;

}  // namespace rondo::base
