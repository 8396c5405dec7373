#pragma once
/// Frames over rings in shared memory, and an arena: for ranks that are processes (or threads) of one host.
/// On the way of a small call there is no system call: bells are rung only for those who sleep.

#include <memory>
#include <vector>

#include "base/scheduler.hpp"
#include "transport/job.hpp"
#include "transport/shm/heap.hpp"
#include "transport/shm/segment.hpp"
#include "transport/transport.hpp"

namespace rondo::transport::shm {

/// A job all of whose ranks are here: the bells by which they wake each other.
class Host {
 public:
  /// All ranks call it. All get it, or all throw the same Problem(unavailable).
  static std::shared_ptr<Host> open(std::shared_ptr<Job> job, base::Deadline& deadline);

  Job& job() noexcept { return *job_; }
  const std::shared_ptr<Job>& shared_job() const noexcept { return job_; }
  /// What the waiters of this process sleep on; others ring it.
  base::Event& bell() noexcept { return bell_; }
  base::Bell& bell_of(int rank) noexcept;
  /// Memory for tensors that all ranks of the job address.
  Heap& heap() noexcept { return *heap_; }

 private:
  Host(std::shared_ptr<Job> job, std::unique_ptr<Segment> segment, const JobLayout& layout);
  static std::size_t heap_bytes();

  std::shared_ptr<Job> job_;
  std::unique_ptr<Segment> segment_;
  const JobLayout layout_;
  std::shared_ptr<Heap> heap_;
  base::Event bell_;
};

/// Wires and arena of a group of some of the job's ranks. `members`: ranks of the job in the group's order,
/// this one included. Throws Problem.
std::unique_ptr<Transport> connect(const std::shared_ptr<Host>& host, const GroupId& id,
                                   std::vector<int> members, base::Deadline& deadline,
                                   const control::Proceed& proceed = {});

}  // namespace rondo::transport::shm
