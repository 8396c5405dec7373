#pragma once
/// The only place where rondo sleeps, reads a clock or starts a thread. Two implementations: the real clock,
/// and the simulated one of sim_run (one thread at a time, virtual time).

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "base/bell.hpp"
#include "base/fd.hpp"

namespace rondo::base {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
inline constexpr TimePoint never = TimePoint::max();

class Event;
/// The handle of a thread that Scheduler::spawn has started; join it.
using Thread = std::thread;

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual TimePoint now() = 0;
  /// Lets another thread run.
  virtual void yield() = 0;
  virtual void sleep_until(TimePoint until) = 0;
  /// True under virtual time, where spinning is useless.
  virtual bool simulated() const noexcept = 0;

 private:
  friend class Event;
  /// Sleeps until `event` is rung after `ticket` was taken (true) or `until` (false).
  virtual bool park(Event& event, std::uint32_t ticket, TimePoint until) = 0;
  virtual void unpark(Event& event) = 0;
  /// The same as park, and over as soon as one of `polled` is ready as well. Only where there are
  /// descriptors: in the real world.
  virtual bool park_polling(Event& event, std::uint32_t ticket, TimePoint until, std::span<pollfd> polled);

 public:
  /// Starts a thread of rondo's own. In the real world; in a simulated one the threads are those of the
  /// ranks.
  virtual Thread spawn(std::function<void()> body);
};

/// The scheduler of the real world; one per process.
Scheduler& real_scheduler();

/// A place to sleep. To wait for a condition without losing a wake-up: take a ticket, look at the condition,
/// wait with the ticket. ring() after changing the condition; it is cheap when nobody sleeps. Never hold a
/// mutex across wait().
class Event {
 public:
  explicit Event(Scheduler& scheduler) noexcept : scheduler_(scheduler), bell_(own_) {}
  /// Sleeps on a bell that others, in other processes too, may ring without the Event. Not for poll().
  Event(Scheduler& scheduler, Bell& bell) noexcept : scheduler_(scheduler), bell_(bell) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  std::uint32_t ticket() const noexcept { return bell_.epoch.load(std::memory_order_seq_cst); }
  void ring();
  /// As Bell::nudge.
  void nudge() {
    if (bell_.sleepers.load(std::memory_order_seq_cst) > 0) ring();
  }
  /// Makes nudges count until renounce(): announce, take a ticket, look, wait.
  void announce() noexcept { bell_.sleepers.fetch_add(1, std::memory_order_seq_cst); }
  void renounce() noexcept { bell_.sleepers.fetch_sub(1, std::memory_order_relaxed); }
  /// True when rung since the ticket was taken, false when `until` came first.
  bool wait(std::uint32_t ticket, TimePoint until) { return scheduler_.park(*this, ticket, until); }
  /// Also over (true) when one of `polled` is ready. One thread at a time sleeps in poll(); others that come
  /// meanwhile sleep until it returns, and take its place by calling again.
  bool wait(std::uint32_t ticket, TimePoint until, std::span<pollfd> polled) {
    return polled.empty() ? wait(ticket, until) : scheduler_.park_polling(*this, ticket, until, polled);
  }
  Scheduler& scheduler() const noexcept { return scheduler_; }

 private:
  friend class RealScheduler;
  friend class SimScheduler;

  Scheduler& scheduler_;
  Bell own_;
  Bell& bell_;
  std::atomic<bool> claimed_{false};  // a thread is about to sleep in poll(), or does
  std::atomic<bool> polls_{false};    // it must be woken through wake_
  Fd wake_;                           // an eventfd that ends its poll(); made by the first that polls
};

}  // namespace rondo::base
