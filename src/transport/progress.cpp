#include "transport/progress.hpp"

#include <algorithm>

#include "base/cores.hpp"
#include "base/pause.hpp"

namespace rondo::transport {

namespace {

constexpr int spins_with_free_cores = 2000;
constexpr int spins_between_looks = 32;                                // at the clock
constexpr base::Duration spin_limit = std::chrono::microseconds(100);  // longer than two futex wake-ups
constexpr base::Duration spin_between_yields = std::chrono::microseconds(10);
constexpr int yields_before_sleep = 4;
constexpr int turns_between_others = 32;

}  // namespace

Progress::Progress(base::Event& bell, int ranks_here)
    : bell_(bell),
      spins_(!bell.scheduler().simulated() && ranks_here <= base::usable_cores() ? spins_with_free_cores
                                                                                 : 0) {}

void Progress::add(Transport& transport) {
  std::lock_guard lock(mutex_);
  all_.push_back(&transport);
}

void Progress::remove(Transport& transport) {
  std::lock_guard lock(mutex_);
  std::erase(all_, &transport);
}

void Progress::poll() {
  if (scheduler().simulated()) scheduler().yield();
  bool moved = false;
  {
    std::lock_guard lock(mutex_);
    for (Transport* each : all_) moved = each->poll() || moved;
  }
  if (moved) bell_.nudge();
}

Progress::Turn Progress::turn(Transport& hot, bool everything, Condition& condition) {
  bool moved = false;
  bool met = false;
  {
    std::lock_guard lock(mutex_);
    if (condition.met()) return Turn::met;
    if (everything) {
      for (Transport* each : all_) moved = each->poll() || moved;
    } else {
      moved = hot.poll();
    }
    met = moved && condition.met();
  }
  if (moved) bell_.nudge();  // what moved may be what another thread of this rank waits for
  return met ? Turn::met : moved ? Turn::moved : Turn::idle;
}

bool Progress::wait(Transport& hot, base::Deadline& deadline, Condition& condition) {
  // The first look costs no clock.
  if (look(hot, condition)) return true;
  return wait_until(hot, deadline.end(), condition);
}

// Announced: who changes something that this rank may wait for rings its bell.
class Progress::Drowsy {
 public:
  explicit Drowsy(base::Event& bell) noexcept : bell_(bell) {}
  ~Drowsy() { wake(); }
  Drowsy(const Drowsy&) = delete;
  Drowsy& operator=(const Drowsy&) = delete;
  void announce() noexcept {
    if (!announced_) bell_.announce();
    announced_ = true;
  }
  void wake() noexcept {
    if (announced_) bell_.renounce();
    announced_ = false;
  }

 private:
  base::Event& bell_;
  bool announced_ = false;
};

// How a waiter passes fruitless turns: it spins, if a core is free for every rank, then yields, then sleeps.
// Spinning, it yields now and then: the rank that is waited for may have been placed on this very core, and
// two that take turns in spinning and sleeping look like one busy rank, which nobody moves apart.
class Progress::Patience {
 public:
  Patience(base::Scheduler& scheduler, int spins) noexcept : scheduler_(scheduler), spins_(spins) {}

  bool at_end() const noexcept { return idle_ >= spins_ + yields_before_sleep; }
  void renew() noexcept { idle_ = 0; }
  void pass() {
    if (idle_ < spins_) {
      if (idle_ % spins_between_looks == spins_between_looks - 1) look_at_clock();
      base::pause_core();
    } else if (!scheduler_.simulated()) {
      scheduler_.yield();
    }
    ++idle_;
  }

 private:
  void look_at_clock() {
    const base::TimePoint now = scheduler_.now();
    if (idle_ < spins_between_looks) {
      began_ = yielded_ = now;
    } else if (now - began_ >= spin_limit) {
      idle_ = spins_;
    } else if (now - yielded_ >= spin_between_yields) {
      scheduler_.yield();
      yielded_ = now;
    }
  }

  base::Scheduler& scheduler_;
  const int spins_;
  int idle_ = 0;
  base::TimePoint began_{};
  base::TimePoint yielded_{};
};

bool Progress::wait_until(Transport& hot, base::TimePoint limit, Condition& condition) {
  Patience patience(scheduler(), spins_);
  Drowsy drowsy(bell_);
  for (int round = 0;; ++round) {
    if (scheduler().simulated()) scheduler().yield();
    const bool about_to_sleep = patience.at_end();
    if (about_to_sleep) drowsy.announce();
    const std::uint32_t ticket = bell_.ticket();
    const Turn result = turn(hot, about_to_sleep || round % turns_between_others == 0, condition);
    if (result == Turn::met) return true;
    if (result == Turn::moved) {
      patience.renew();
      drowsy.wake();
      if (round % turns_between_others == 0 && scheduler().now() >= limit) return false;
    } else if (!about_to_sleep) {
      patience.pass();
    } else {
      if (scheduler().now() >= limit) return false;
      sleep(ticket, limit);  // stays about to sleep: a wake-up that changes nothing costs one turn
    }
  }
}

void Progress::sleep(std::uint32_t ticket, base::TimePoint limit) {
  base::TimePoint until = limit;
  std::vector<pollfd> polled;
  {
    std::lock_guard lock(mutex_);
    for (const Transport* each : all_) {
      until = std::min(until, each->next_turn());
      each->append_polled(polled);
    }
  }
  bell_.wait(ticket, until, polled);
}

}  // namespace rondo::transport
