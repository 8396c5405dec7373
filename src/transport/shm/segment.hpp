#pragma once
/// Memory that the processes of a group share: nameless, so that nothing is left when all of them are killed,
/// and sealed, so that none can make it smaller under the others.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "transport/job.hpp"

namespace rondo::transport::shm {

class Segment {
 public:
  /// Of `bytes` bytes, all zero, the first `mapped` of them mapped; none of it reserved yet. Throws
  /// Problem(unavailable).
  Segment(std::size_t bytes, std::size_t mapped);
  explicit Segment(std::size_t bytes) : Segment(bytes, bytes) {}
  /// One that another process has made and handed over. Throws Problem(unavailable) when it is no such
  /// segment or of another size.
  Segment(base::Fd descriptor, std::size_t bytes, std::size_t mapped);
  Segment(base::Fd descriptor, std::size_t bytes) : Segment(std::move(descriptor), bytes, bytes) {}
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment();

  int descriptor() const noexcept { return fd_.get(); }
  /// What is mapped.
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return mapped_; }
  /// Takes the memory of this part from the system now, so that touching it later cannot fail. Throws
  /// Problem(unavailable) that tells how much was wanted and how much there is.
  void reserve(std::size_t offset, std::size_t bytes);

 private:
  void map();

  base::Fd fd_;
  std::size_t mapped_;
  std::byte* data_ = nullptr;
};

struct SegmentSizes {
  std::size_t bytes;
  std::size_t reserved;
  std::size_t mapped;
};

/// Takes this part of a segment from the system, as Segment::reserve does.
void reserve_memory(int segment, std::size_t offset, std::size_t bytes);

/// A segment for these ranks of the job, the first `reserved` bytes of it reserved, the first `mapped`
/// mapped: made by the lowest of them, handed to the others over local sockets, and believed to be shared
/// once every rank has read there what the maker wrote (the first 64 bytes are for that). All get it, or all
/// throw the same Problem. `purpose_group` tells it from others that the same ranks make at the same time.
std::unique_ptr<Segment> share(Job& job, std::uint64_t purpose_group, const std::vector<int>& members,
                               SegmentSizes sizes, base::Deadline& deadline,
                               const control::Proceed& proceed = {});

/// What is left for one more reservation on this machine (memory available, the cgroup's limit), in bytes.
std::uint64_t memory_left();

}  // namespace rondo::transport::shm
