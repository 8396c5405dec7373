#include "base/scheduler.hpp"

#include <thread>

namespace rondo::base {

void Event::ring() {
  // Ordered with the increment of sleepers_ in park(): either the sleeper sees the new epoch or we see the
  // sleeper.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) scheduler_.unpark(*this);
}

class RealScheduler final : public Scheduler {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  void yield() override { std::this_thread::yield(); }
  void sleep_until(TimePoint until) override { std::this_thread::sleep_until(until); }
  bool simulated() const noexcept override { return false; }

 private:
  bool park(Event& event, std::uint32_t ticket, TimePoint until) override {
    std::unique_lock lock(event.mutex_);
    event.sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool rung = false;
    for (;;) {
      rung = event.epoch_.load(std::memory_order_seq_cst) != ticket;
      if (rung) break;
      if (until == never) {
        event.sleep_.wait(lock);
      } else if (event.sleep_.wait_until(lock, until) == std::cv_status::timeout) {
        rung = event.epoch_.load(std::memory_order_seq_cst) != ticket;
        break;
      }
    }
    event.sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return rung;
  }

  void unpark(Event& event) override {
    std::lock_guard lock(event.mutex_);
    event.sleep_.notify_all();
  }
};

Scheduler& real_scheduler() {
  static RealScheduler scheduler;
  return scheduler;
}

}  // namespace rondo::base
