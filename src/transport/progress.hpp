#pragma once
/// The thread that waits does the work: one object per rank moves all its wires.

#include <memory>
#include <mutex>
#include <vector>

#include "base/deadline.hpp"
#include "base/scheduler.hpp"
#include "transport/transport.hpp"

namespace rondo::transport {

/// What a waiter waits for, asked with the progress lock held. May throw base::Problem, which ends the wait.
class Condition {
 public:
  virtual bool met() = 0;

 protected:
  ~Condition() = default;
};

/// Shared by all groups of one rank that come from one init. Transports, and everything attached to them, are
/// touched only with mutex() held, and nobody sleeps with it held. Any number of threads may wait; each
/// advances everything.
class Progress {
 public:
  /// `bell` is rung by others when something may have moved; `ranks_here` share this machine's cores.
  Progress(base::Event& bell, int ranks_here);

  base::Scheduler& scheduler() const noexcept { return bell_.scheduler(); }
  std::mutex& mutex() noexcept { return mutex_; }
  void add(Transport& transport);
  void remove(Transport& transport);
  /// Moves what can be moved, once. Takes the lock.
  void poll();
  /// Polls and sleeps until `condition` is met (true) or the limit runs out (false). `hot` is looked at every
  /// turn, the others now and then and before sleeping. Takes the lock.
  bool wait(Transport& hot, base::Deadline& deadline, Condition& condition);
  /// One look, without a clock: true when met.
  bool look(Transport& hot, Condition& condition) { return turn(hot, false, condition) == Turn::met; }
  bool wait_until(Transport& hot, base::TimePoint limit, Condition& condition);
  /// Wakes the waiters of this rank (a condition changed by hand).
  void ring() { bell_.ring(); }
  /// How many fruitless turns are worth spinning: 0 where no core is free for every rank, or time is virtual.
  int spins() const noexcept { return spins_; }

 private:
  enum class Turn : std::uint8_t { met, moved, idle };
  class Drowsy;
  class Patience;
  Turn turn(Transport& hot, bool everything, Condition& condition);
  void sleep(std::uint32_t ticket, base::TimePoint limit);

  base::Event& bell_;
  const int spins_;
  std::mutex mutex_;
  std::vector<Transport*> all_;
};

}  // namespace rondo::transport
