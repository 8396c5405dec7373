#include "base/scheduler.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using rondo::base::Event;
using rondo::base::never;
using rondo::base::real_scheduler;
using rondo::base::Scheduler;
using rondo::base::TimePoint;
using namespace std::chrono_literals;

// Beyond what any test takes: a wait that ends at it has lost its ring.
TimePoint far() { return real_scheduler().now() + 60s; }

TEST(Event, two_threads_hand_a_number_back_and_forth) {
  constexpr int rounds = 20000;
  Event ping(real_scheduler());
  Event pong(real_scheduler());
  std::atomic<int> turn{0};  // even: the first thread's
  std::atomic<int> lost{0};
  const auto play = [&](int parity, Event& mine, Event& theirs) {
    for (int round = 0; round < rounds; ++round) {
      for (;;) {
        const std::uint32_t ticket = mine.ticket();
        if (turn.load() == 2 * round + parity) break;
        if (!mine.wait(ticket, far())) {
          ++lost;
          return;
        }
      }
      turn.fetch_add(1);
      theirs.ring();
    }
  };
  std::thread first(play, 0, std::ref(ping), std::ref(pong));
  play(1, pong, ping);
  first.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(turn, 2 * rounds);
}

TEST(Event, many_sleepers_and_many_ringers) {
  constexpr int ringers = 3;
  constexpr int sleepers = 3;
  constexpr int each = 5000;
  Event event(real_scheduler());
  std::atomic<int> count{0};
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < sleepers; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        const std::uint32_t ticket = event.ticket();
        if (count.load() == ringers * each) return;
        if (!event.wait(ticket, far())) {
          ++lost;
          return;
        }
      }
    });
  }
  for (int i = 0; i < ringers; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < each; ++k) {
        count.fetch_add(1);
        event.ring();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
}

TEST(Event, a_ring_after_the_ticket_ends_a_wait_that_begins_later) {
  Event event(real_scheduler());
  const std::uint32_t ticket = event.ticket();
  event.ring();
  EXPECT_TRUE(event.wait(ticket, never));
  EXPECT_TRUE(event.wait(ticket, TimePoint::min()));  // also when the limit is long over
}

TEST(Event, a_ring_before_the_ticket_does_not_count) {
  Event event(real_scheduler());
  event.ring();
  EXPECT_FALSE(event.wait(event.ticket(), real_scheduler().now()));
}

TEST(Event, times_out_not_before_the_limit) {
  Event event(real_scheduler());
  const TimePoint limit = real_scheduler().now() + 3ms;
  EXPECT_FALSE(event.wait(event.ticket(), limit));
  EXPECT_GE(real_scheduler().now(), limit);
}

TEST(Event, can_be_waited_for_again_after_a_time_out) {
  Event event(real_scheduler());
  EXPECT_FALSE(event.wait(event.ticket(), real_scheduler().now()));
  const std::uint32_t ticket = event.ticket();
  std::thread ringer([&] { event.ring(); });
  EXPECT_TRUE(event.wait(ticket, far()));
  ringer.join();
}

TEST(RealScheduler, sleeps_until_the_moment_asked_for) {
  Scheduler& scheduler = real_scheduler();
  EXPECT_FALSE(scheduler.simulated());
  const TimePoint until = scheduler.now() + 2ms;
  scheduler.sleep_until(until);
  EXPECT_GE(scheduler.now(), until);
}

}  // namespace
