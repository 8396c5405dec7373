#include "base/scheduler.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/check.hpp"

namespace rondo::base {

void Event::ring() {
  // Ordered with the increment of sleepers_ in park(): either the sleeper sees the new epoch or we see the
  // sleeper.
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) > 0) scheduler_.unpark(*this);
}

bool Scheduler::park_polling(Event&, std::uint32_t, TimePoint, std::span<pollfd>) {
  broken_invariant("descriptors have no place in virtual time", __FILE__, __LINE__);
}

Thread Scheduler::spawn(std::function<void()>) {
  broken_invariant("the threads of a simulated world are those of its ranks", __FILE__, __LINE__);
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
    if (event.polls_) wake(event);
  }

  bool park_polling(Event& event, std::uint32_t ticket, TimePoint until, std::span<pollfd> polled) override {
    std::unique_lock lock(event.mutex_);
    event.sleepers_.fetch_add(1, std::memory_order_seq_cst);
    bool over = event.epoch_.load(std::memory_order_seq_cst) != ticket;
    if (!over && event.polls_) {
      const bool in_time = until == never
                               ? (event.sleep_.wait(lock), true)
                               : event.sleep_.wait_until(lock, until) == std::cv_status::no_timeout;
      over = in_time;  // the place in poll() may be free: the caller looks again
    } else if (!over) {
      if (!event.wake_) event.wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
      RONDO_INVARIANT(static_cast<bool>(event.wake_));
      event.polls_ = true;
      lock.unlock();
      over = poll_for(event.wake_.get(), polled, until);
      lock.lock();
      event.polls_ = false;
      std::uint64_t count = 0;
      (void)!read(event.wake_.get(), &count, sizeof(count));
      event.sleep_.notify_all();
    }
    event.sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return over || event.epoch_.load(std::memory_order_seq_cst) != ticket;
  }

  Thread spawn(std::function<void()> body) override { return Thread(std::move(body)); }

  static void wake(Event& event) {
    const std::uint64_t one = 1;
    (void)!write(event.wake_.get(), &one, sizeof(one));
  }

  // True when something was ready.
  bool poll_for(int wake_fd, std::span<pollfd> polled, TimePoint until) {
    std::vector<pollfd> all(polled.begin(), polled.end());
    all.push_back({wake_fd, POLLIN, 0});
    for (;;) {
      const Duration left =
          until == never ? std::chrono::hours(1) : std::max(Duration::zero(), until - now());
      const timespec limit{static_cast<time_t>(left.count() / 1'000'000'000),
                           static_cast<long>(left.count() % 1'000'000'000)};
      const int ready = ppoll(all.data(), all.size(), &limit, nullptr);
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return true;  // the caller's own look will tell
      if (ready == 0 && until != never && now() >= until) return false;
    }
  }
};

Scheduler& real_scheduler() {
  static RealScheduler scheduler;
  return scheduler;
}

}  // namespace rondo::base
