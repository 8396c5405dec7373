#include "base/process_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.hpp"

namespace rondo::base {

namespace {

constexpr std::size_t most_pieces = 8;

#ifdef __linux__

iovec run_at(std::uint64_t address, std::size_t bytes) noexcept {
  return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), bytes};  // NOLINT: elsewhere
}

// Takes `moved` bytes off the front of the runs.
void advance(std::array<iovec, most_pieces>& runs, std::size_t count, std::size_t moved) noexcept {
  for (std::size_t i = 0; i < count && moved > 0; ++i) {
    const std::size_t taken = std::min(moved, runs[i].iov_len);
    runs[i].iov_base = static_cast<char*>(runs[i].iov_base) + taken;
    runs[i].iov_len -= taken;
    moved -= taken;
  }
}

#endif

}  // namespace

int read_process_memory(int pid, std::span<const RemotePiece> pieces) noexcept {
  RONDO_INVARIANT(pieces.size() <= most_pieces);
#ifdef __linux__
  std::array<iovec, most_pieces> here{};
  std::array<iovec, most_pieces> there{};
  std::size_t left = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    here[i] = {pieces[i].into.data(), pieces[i].into.size()};
    there[i] = run_at(pieces[i].address, pieces[i].into.size());
    left += pieces[i].into.size();
  }
  while (left > 0) {
    // The system copies at most 2 GiB a call, and less where a later page is no memory.
    const ssize_t moved = process_vm_readv(pid, here.data(), pieces.size(), there.data(), pieces.size(), 0);
    if (moved < 0) return errno;
    if (moved == 0) return EFAULT;
    left -= static_cast<std::size_t>(moved);
    advance(here, pieces.size(), static_cast<std::size_t>(moved));
    advance(there, pieces.size(), static_cast<std::size_t>(moved));
  }
  return 0;
#else
  static_cast<void>(pid);
  return pieces.empty() ? 0 : ENOSYS;
#endif
}

}  // namespace rondo::base
