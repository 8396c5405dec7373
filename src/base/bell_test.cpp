#include "base/bell.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/scheduler.hpp"
#include "support/process.hpp"

namespace {

using rondo::base::Bell;
using rondo::base::Event;
using rondo::base::Fd;
using rondo::base::real_scheduler;
using rondo::base::TimePoint;
using rondo::test::comes_true;
using namespace std::chrono_literals;

// Beyond what any test takes: a wait that ends at it has lost its ring.
TimePoint far() { return real_scheduler().now() + 60s; }

/// Memory that a process and those it forks share.
struct Table {
  std::array<Bell, 4> bells;
  std::array<std::atomic<int>, 4> numbers;
};
class Shared {
 public:
  Shared() {
    void* const memory =
        mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
    table_ = static_cast<Table*>(memory);  // zero, which is how all of it begins
  }
  ~Shared() { munmap(table_, sizeof(Table)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  Table* operator->() const noexcept { return table_; }

 private:
  Table* table_;
};

/// A process that ends with 0 when `body` gives true.
class Child {
 public:
  explicit Child(const std::function<bool()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    alarm(100);
    _exit(body() ? 0 : 1);
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }
  int wait() {
    int status = -1;
    EXPECT_EQ(waitpid(std::exchange(pid_, -1), &status, 0) > 0, true);
    return status;
  }
  bool sleeps() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    file >> number >> name >> state;
    return state == "S";
  }

 private:
  pid_t pid_;
};

/// Sleeps on `bell`, announced, until `met`. False when it was never woken.
template <class Condition>
bool wait_for(Event& bell, Condition&& met, TimePoint until = far()) {
  bell.announce();
  bool in_time = true;
  bool done = false;
  while (!done && in_time) {
    const std::uint32_t ticket = bell.ticket();
    done = met();
    if (!done) in_time = bell.wait(ticket, until);
  }
  bell.renounce();
  return done;
}

/// One side of a game: waits for its turn, makes it the other's, nudges.
bool play(Bell& mine, Bell& theirs, std::atomic<int>& turn, int parity, int rounds) {
  Event bell(real_scheduler(), mine);
  for (int round = 0; round < rounds; ++round) {
    if (!wait_for(bell, [&] { return turn.load() == 2 * round + parity; })) return false;
    turn.store(2 * round + parity + 1);
    theirs.nudge();
  }
  return true;
}

TEST(Bell, two_processes_hand_a_number_back_and_forth) {
  constexpr int rounds = 20'000;
  const Shared shared;
  Child other([&] { return play(shared->bells[0], shared->bells[1], shared->numbers[0], 0, rounds); });
  EXPECT_TRUE(play(shared->bells[1], shared->bells[0], shared->numbers[0], 1, rounds));
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(shared->numbers[0], 2 * rounds);
  EXPECT_EQ(shared->bells[0].sleepers, 0U);
  EXPECT_EQ(shared->bells[1].sleepers, 0U);
}

TEST(Bell, a_nudge_rings_only_for_who_has_announced_himself) {
  Bell bell;
  Event event(real_scheduler(), bell);
  bell.nudge();
  EXPECT_EQ(bell.epoch, 0U);
  event.announce();
  const std::uint32_t ticket = event.ticket();
  bell.nudge();
  EXPECT_TRUE(event.wait(ticket, far()));
  event.renounce();
  const std::uint32_t later = event.ticket();
  bell.nudge();
  EXPECT_EQ(event.ticket(), later);
  bell.ring();
  EXPECT_TRUE(event.wait(later, far()));
}

// Who is killed in its sleep stays counted as a sleeper: that may cost a system call, and nothing else.
TEST(Bell, a_process_killed_in_its_sleep_disturbs_nobody) {
  constexpr int rounds = 2000;
  const Shared shared;
  Bell& common = shared->bells[0];
  const auto sleep_on = [](Bell& bell) {
    Event event(real_scheduler(), bell);
    return wait_for(event, [] { return false; });
  };
  Child victim([&] { return sleep_on(common); });
  Child witness([&] { return play(common, shared->bells[1], shared->numbers[0], 0, rounds); });
  ASSERT_TRUE(comes_true([&] { return common.sleepers >= 1 && victim.sleeps(); }));
  ASSERT_EQ(kill(victim.pid(), SIGKILL), 0);
  EXPECT_EQ(victim.wait(), SIGKILL);
  EXPECT_TRUE(play(shared->bells[1], common, shared->numbers[0], 1, rounds));
  EXPECT_EQ(witness.wait(), 0);
  EXPECT_EQ(shared->numbers[0], 2 * rounds);
}

TEST(Bell, all_processes_that_sleep_on_it_wake) {
  constexpr int sleepers = 3;
  constexpr int rounds = 1000;
  const Shared shared;
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < sleepers; ++i) {
    children.push_back(std::make_unique<Child>([&] {
      Event event(real_scheduler(), shared->bells[0]);
      for (int round = 1; round <= rounds; ++round) {
        if (!wait_for(event, [&] { return shared->numbers[0].load() >= round; })) return false;
        shared->numbers[1].fetch_add(1);
        shared->bells[1].nudge();
      }
      return true;
    }));
  }
  Event acknowledged(real_scheduler(), shared->bells[1]);
  for (int round = 1; round <= rounds; ++round) {
    shared->numbers[0].store(round);
    shared->bells[0].nudge();
    ASSERT_TRUE(wait_for(acknowledged, [&] { return shared->numbers[1].load() == sleepers * round; }))
        << round;
  }
  for (const auto& each : children) EXPECT_EQ(each->wait(), 0);
}

TEST(Bell, a_wait_with_a_limit_ends_at_it_and_can_be_repeated) {
  Bell bell;
  Event event(real_scheduler(), bell);
  const TimePoint limit = real_scheduler().now() + 3ms;
  EXPECT_FALSE(wait_for(
      event, [] { return false; }, limit));
  EXPECT_GE(real_scheduler().now(), limit);
  EXPECT_EQ(bell.sleepers, 0U);
  std::atomic<bool> set{false};
  std::thread other([&] {
    set = true;
    bell.nudge();
  });
  EXPECT_TRUE(wait_for(event, [&] { return set.load(); }));
  other.join();
}

// --- several threads of a process, some in poll()
// -----------------------------------------------------------

enum class How { ring, nudge, descriptor };

/// Rounds in which every waiter must hear of one change, and the driver of every answer.
class Rounds {
 public:
  explicit Rounds(int waiters) : waiters_(waiters) {}

  /// One thread of `waiters`; in poll() where `polls` says so.
  template <class Polls>
  void wait_through(int rounds, Polls&& polls) {
    for (int round = 1; round <= rounds; ++round) {
      if (!hear(round, polls)) {
        ++lost_;
        return;
      }
      answers_.fetch_add(1);
      answered_.nudge();
    }
  }
  void drive(int rounds, const std::function<How(int)>& how) {
    for (int round = 1; round <= rounds && lost_ == 0; ++round) {
      change_.store(round);
      const How chosen = how(round);
      switch (chosen) {
        case How::ring:
          event_.ring();
          break;
        case How::nudge:
          event_.nudge();
          break;
        case How::descriptor:
          signal();
          break;
      }
      if (!wait_for(answered_, [&] { return answers_.load() == waiters_ * round; })) ++lost_;
      if (chosen == How::descriptor) drain();
    }
  }
  int lost() const { return lost_; }

 private:
  template <class Polls>
  bool hear(int round, Polls&& polls) {
    event_.announce();
    bool in_time = true;
    bool met = false;
    while (!met && in_time) {
      const std::uint32_t ticket = event_.ticket();
      met = change_.load() >= round;
      if (met) break;
      std::array<pollfd, 1> polled{{{readable_.get(), POLLIN, 0}}};
      in_time = polls() ? event_.wait(ticket, far(), polled) : event_.wait(ticket, far());
    }
    event_.renounce();
    return met;
  }
  void signal() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(readable_.get(), &one, sizeof one), 8);
  }
  void drain() const {
    std::uint64_t count = 0;
    EXPECT_EQ(::read(readable_.get(), &count, sizeof count), 8);
  }

  const int waiters_;
  Event event_{real_scheduler()};
  Event answered_{real_scheduler()};
  Fd readable_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<int> change_{0};
  std::atomic<int> answers_{0};
  std::atomic<int> lost_{0};
};

constexpr int waiters = 4;

TEST(Event, no_ring_is_lost_where_some_poll_and_some_sleep) {
  constexpr int rounds = 5000;
  Rounds game(waiters);
  std::vector<std::thread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&game, i] {
      std::minstd_rand draw(static_cast<unsigned>(i + 1));
      game.wait_through(rounds, [&] { return i == 0 || draw() % 3 != 0; });
    });
  }
  game.drive(rounds, [](int round) { return round % 2 == 0 ? How::ring : How::nudge; });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(game.lost(), 0);
}

// Only the one in poll() sees a descriptor: the others hear of it from that one.
TEST(Event, what_poll_sees_reaches_those_who_wait_for_its_place) {
  constexpr int rounds = 3000;
  Rounds game(waiters);
  std::vector<std::thread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&game] { game.wait_through(rounds, [] { return true; }); });
  }
  game.drive(rounds, [](int round) {
    return round % 7 == 0 ? How::nudge : round % 7 == 3 ? How::ring : How::descriptor;
  });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(game.lost(), 0);
}

TEST(Event, poll_ends_at_its_limit_and_the_place_is_free_again) {
  Event event(real_scheduler());
  const Fd quiet(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::array<pollfd, 1> polled{{{quiet.get(), POLLIN, 0}}};
  for (int i = 0; i < 3; ++i) {
    const TimePoint limit = real_scheduler().now() + 3ms;
    EXPECT_FALSE(event.wait(event.ticket(), limit, polled));
    EXPECT_GE(real_scheduler().now(), limit);
  }
  EXPECT_FALSE(event.wait(event.ticket(), TimePoint::min(), polled));  // long over
  const std::uint32_t ticket = event.ticket();
  event.ring();
  EXPECT_TRUE(event.wait(ticket, TimePoint::min(), polled));
}

}  // namespace
