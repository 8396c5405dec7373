#include "base/scheduler.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "base/futex.hpp"

namespace rondo::base {

void Event::ring() {
  // See Bell::ring.
  bell_.epoch.fetch_add(1, std::memory_order_seq_cst);
  if (bell_.sleepers.load(std::memory_order_seq_cst) > 0) scheduler_.unpark(*this);
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
    std::atomic<std::uint32_t>& epoch = event.bell_.epoch;
    event.announce();
    bool in_time = true;
    while (in_time && epoch.load(std::memory_order_seq_cst) == ticket) {
      in_time = futex_wait(epoch, ticket, until);
    }
    event.renounce();
    return epoch.load(std::memory_order_seq_cst) != ticket;
  }

  void unpark(Event& event) override {
    event.bell_.wake();
    if (event.polls_.load(std::memory_order_seq_cst)) wake(event);
  }

  bool park_polling(Event& event, std::uint32_t ticket, TimePoint until, std::span<pollfd> polled) override {
    RONDO_INVARIANT(&event.bell_ == &event.own_);  // who rings from another process knows no descriptor
    if (event.claimed_.exchange(true)) {
      // Rung when the place in poll() is free: the caller looks again.
      return park(event, ticket, until);
    }
    event.announce();
    if (!event.wake_) event.wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    bool over = false;
    if (event.wake_) {
      event.polls_.store(true, std::memory_order_seq_cst);
      over = event.ticket() != ticket || poll_for(event.wake_.get(), polled, until);
      event.polls_.store(false, std::memory_order_seq_cst);
      std::uint64_t count = 0;
      (void)!read(event.wake_.get(), &count, sizeof(count));
    } else if (event.ticket() == ticket) {
      // Out of descriptors: nobody can end the poll, so it is a short one, after which the caller looks
      // again.
      (void)poll_for(-1, polled, std::min(until, now() + std::chrono::milliseconds(5)));
      over = until == never || now() < until;
    }
    event.renounce();
    over = over || event.ticket() != ticket;
    event.claimed_.store(false, std::memory_order_seq_cst);
    event.ring();
    return over;
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
      // Compared before subtracted: there are moments too far off for a difference.
      const TimePoint begin = now();
      Duration left = std::chrono::hours(1);
      if (until != never) left = until > begin ? until - begin : Duration::zero();
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
