#pragma once
/// Memory for tensors that all ranks of a job address: a heap for each, behind the bells in the job's
/// segment.
///
/// It is address space at first. The owner maps its heap at its first allocation, others when they are first
/// told of memory in it. What is allocated is taken from the system at once, and given back when it is freed.

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "transport/shm/layout.hpp"

namespace rondo::transport::shm {

/// One rank's view of all heaps. Any thread.
class Heap : public std::enable_shared_from_this<Heap> {
 public:
  /// In the job's segment; keeps a descriptor of its own. Throws Problem(unavailable).
  Heap(int segment, const JobLayout& layout, int rank);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  /// Zeroed memory in the own heap, aligned to a page; it lives as long as it is held, and so does this.
  /// Throws Problem(unavailable) that tells how much was wanted and how much there is.
  std::shared_ptr<std::byte> allocate(std::size_t bytes);
  /// The own heap: empty before the first allocation.
  std::span<std::byte> own() const noexcept;
  /// The heap of another rank, to be read only. Throws Problem(unavailable) when it cannot be mapped.
  std::span<std::byte> of(int rank);

 private:
  std::byte* map(int rank, int protection);
  std::size_t take(std::size_t bytes);
  void give_back(std::size_t offset, std::size_t bytes) noexcept;

  base::Fd segment_;
  const JobLayout layout_;
  const int rank_;
  std::vector<std::atomic<std::byte*>> mapped_;
  std::mutex mutex_;                         // of what follows, and of mapping
  std::map<std::size_t, std::size_t> free_;  // offset in the own heap, bytes; neighbours are merged
};

}  // namespace rondo::transport::shm
