#pragma once
/// The scheduler of sim_run: one thread runs at a time, the next is drawn from a seed, time is virtual.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/scheduler.hpp"

namespace rondo::base {

/// Threads are those given to run(). They give way only in park, yield and sleep_until, so a run with the
/// same seed is the same run. When none can run, the clock jumps to the nearest limit. Other threads may read
/// the clock; a wait of theirs is over at once, with the clock at its limit.
class SimScheduler final : public Scheduler {
 public:
  explicit SimScheduler(std::uint64_t seed);
  ~SimScheduler() override;

  /// Runs every function on a thread of its own, until all have returned. They must not throw.
  void run(std::vector<std::function<void()>> mains);
  /// The next number below `bound` of the seeded sequence. For the thread that runs.
  std::uint64_t draw(std::uint64_t bound);

  TimePoint now() override;
  void yield() override;
  void sleep_until(TimePoint until) override;
  bool simulated() const noexcept override { return true; }

 private:
  struct Thread;

  bool park(Event& event, std::uint32_t ticket, TimePoint until) override;
  void unpark(Event& event) override;
  void give_way(std::unique_lock<std::mutex>& lock, Thread& self);
  void hand_over();
  std::uint64_t draw_locked(std::uint64_t bound);

  std::mutex mutex_;
  std::condition_variable ended_;
  std::mt19937_64 random_;
  TimePoint time_{};
  std::vector<std::unique_ptr<Thread>> threads_;
  Thread* current_ = nullptr;
  std::size_t alive_ = 0;
};

}  // namespace rondo::base
