#include "transport/shm/heap.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "base/problem.hpp"
#include "transport/shm/segment.hpp"

namespace rondo::transport::shm {

namespace {

using base::Problem;

}  // namespace

Heap::Heap(int segment, const JobLayout& layout, int rank)
    : segment_(fcntl(segment, F_DUPFD_CLOEXEC, 0)),
      layout_(layout),
      rank_(rank),
      mapped_(layout.ranks),
      free_{{0, layout.heap_bytes}} {
  if (!segment_) {
    throw Problem(ErrorKind::unavailable, -1,
                  fmt::format("no memory for tensors that ranks share: {}", base::error_words(errno)));
  }
}

Heap::~Heap() {
  for (auto& each : mapped_) {
    if (std::byte* const memory = each.load(); memory != nullptr) munmap(memory, layout_.heap_bytes);
  }
}

std::byte* Heap::map(int rank, int protection) {
  auto& place = mapped_[static_cast<std::size_t>(rank)];
  if (std::byte* const memory = place.load(std::memory_order_acquire); memory != nullptr) return memory;
  const std::lock_guard lock(mutex_);
  if (std::byte* const memory = place.load(std::memory_order_acquire); memory != nullptr) return memory;
  void* const memory = mmap(nullptr, layout_.heap_bytes, protection, MAP_SHARED, segment_.get(),
                            static_cast<off_t>(layout_.heap(static_cast<std::size_t>(rank))));
  if (memory == MAP_FAILED) {
    throw Problem(ErrorKind::unavailable, rank,
                  fmt::format("cannot map {} bytes of address space for the tensors of rank {}: {}",
                              layout_.heap_bytes, rank, base::error_words(errno)));
  }
  // A core dump would otherwise touch all of it.
  madvise(memory, layout_.heap_bytes, MADV_DONTDUMP);
  place.store(static_cast<std::byte*>(memory), std::memory_order_release);
  return static_cast<std::byte*>(memory);
}

std::span<std::byte> Heap::own() const noexcept {
  std::byte* const memory = mapped_[static_cast<std::size_t>(rank_)].load(std::memory_order_acquire);
  return {memory, memory != nullptr ? layout_.heap_bytes : 0};
}

std::span<std::byte> Heap::of(int rank) {
  return {map(rank, rank == rank_ ? PROT_READ | PROT_WRITE : PROT_READ), layout_.heap_bytes};
}

std::shared_ptr<std::byte> Heap::allocate(std::size_t bytes) {
  const std::size_t whole = page_up(std::max<std::size_t>(bytes, 1));
  std::byte* const heap = map(rank_, PROT_READ | PROT_WRITE);
  const std::size_t offset = take(whole);
  try {
    reserve_memory(segment_.get(), layout_.heap(static_cast<std::size_t>(rank_)) + offset, whole);
  } catch (...) {
    give_back(offset, whole);
    throw;
  }
  const auto free = [heap_of = shared_from_this(), offset, whole](std::byte*) noexcept {
    heap_of->give_back(offset, whole);
  };
  // When the control block cannot be had, shared_ptr calls it.
  return {heap + offset, free};
}

std::size_t Heap::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at =
      std::find_if(free_.begin(), free_.end(), [&](const auto& piece) { return piece.second >= bytes; });
  if (at == free_.end()) {
    throw Problem(ErrorKind::unavailable, -1,
                  fmt::format("{} bytes of shared memory are needed; the tensors of a rank have {} bytes of "
                              "address space, and no such piece is left",
                              bytes, layout_.heap_bytes));
  }
  const auto [offset, size] = *at;
  free_.erase(at);
  if (size > bytes) free_.emplace(offset + bytes, size - bytes);
  return offset;
}

void Heap::give_back(std::size_t offset, std::size_t bytes) noexcept {
  // The memory goes back to the system, and reads as zero when it is allocated again.
  (void)fallocate(segment_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(layout_.heap(static_cast<std::size_t>(rank_)) + offset),
                  static_cast<off_t>(bytes));
  const std::lock_guard lock(mutex_);
  const auto behind = free_.lower_bound(offset);
  if (behind != free_.end() && offset + bytes == behind->first) {
    bytes += behind->second;
    free_.erase(behind);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace rondo::transport::shm
