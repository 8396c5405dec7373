#include "backend/order.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "base/sim_scheduler.hpp"

namespace {

using rondo::backend::Order;
using rondo::base::Deadline;
using rondo::base::real_scheduler;
using rondo::base::SimScheduler;
using rondo::base::TimePoint;
using namespace std::chrono_literals;

TEST(Order, numbers_count_from_1) {
  Order order(real_scheduler());
  for (std::uint64_t expected = 1; expected <= 5; ++expected) {
    Deadline deadline(real_scheduler(), 1min);
    const Order::Turn turn(order, deadline);
    EXPECT_TRUE(turn.valid());
    EXPECT_EQ(turn.number(), expected);
  }
}

// Tickets are drawn in the order in which the threads come, turns are taken in that order, one at a time.
TEST(Order, turns_come_in_the_order_of_their_tickets) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimScheduler scheduler(seed);
    Order order(scheduler);
    std::vector<std::uint64_t> served;
    bool inside = false;
    std::vector<std::function<void()>> mains;
    for (int thread = 0; thread < 4; ++thread) {
      mains.emplace_back([&] {
        for (int i = 0; i < 5; ++i) {
          scheduler.yield();
          Deadline deadline(scheduler, 1h);
          const Order::Turn turn(order, deadline);
          ASSERT_TRUE(turn.valid());
          ASSERT_FALSE(inside);
          inside = true;
          served.push_back(turn.number());
          scheduler.sleep_until(scheduler.now() + 1s);
          inside = false;
        }
      });
    }
    scheduler.run(std::move(mains));
    ASSERT_EQ(served.size(), 20U);
    for (std::size_t i = 0; i < served.size(); ++i) EXPECT_EQ(served[i], i + 1);
    EXPECT_EQ(scheduler.now(), TimePoint(20s));  // nobody waited longer than for the one before
  }
}

TEST(Order, who_gives_up_is_passed_over) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimScheduler scheduler(seed);
    Order order(scheduler);
    int valid = 0;
    int given_up = 0;
    const auto at = [&](auto when, auto limit, auto hold, bool expected) {
      return [&, when, limit, hold, expected] {
        scheduler.sleep_until(TimePoint(when));
        Deadline deadline(scheduler, limit);
        const Order::Turn turn(order, deadline);
        EXPECT_EQ(turn.valid(), expected);
        ++(turn.valid() ? valid : given_up);
        if (turn.valid()) {
          scheduler.sleep_until(scheduler.now() + hold);
        } else {
          EXPECT_EQ(scheduler.now(), TimePoint(when + limit));
        }
      };
    };
    scheduler.run({at(0s, 1h, 100s, true),   // holds the turn while the others come
                   at(1s, 5s, 0s, false),    // two in a row that give up
                   at(2s, 10s, 0s, false),   //
                   at(3s, 1h, 50s, true),    // served at 100 s
                   at(4s, 120s, 0s, false),  // gives up at 124 s, in the turn of the one before
                   at(5s, 1h, 0s, true)});   // served at 150 s
    EXPECT_EQ(valid, 3);
    EXPECT_EQ(given_up, 3);
    EXPECT_EQ(scheduler.now(), TimePoint(150s));
    Deadline deadline(scheduler, 1s);
    const Order::Turn next(order, deadline);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(next.number(), 7U);
  }
}

TEST(Order, a_limit_of_zero_is_enough_for_a_free_turn) {
  Order order(real_scheduler());
  Deadline none(real_scheduler(), 0s);
  std::optional<Order::Turn> held;
  held.emplace(order, none);
  EXPECT_TRUE(held->valid());
  Deadline again(real_scheduler(), 0s);
  {
    const Order::Turn refused(order, again);
    EXPECT_FALSE(refused.valid());
  }
  held.reset();
  Deadline third(real_scheduler(), 0s);
  const Order::Turn turn(order, third);
  EXPECT_TRUE(turn.valid());
  EXPECT_EQ(turn.number(), 3U);
}

// Who gives up and who leaves do so at the same moment, over and over: no turn is lost, none is given twice.
TEST(Order, giving_up_meets_leaving) {
  Order order(real_scheduler());
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> given_up{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 3000; ++i) {
        // As long as a turn takes: now it comes in time, now it does not.
        Deadline deadline(real_scheduler(), std::chrono::microseconds((7 * i + thread) % 20));
        const Order::Turn turn(order, deadline);
        if (turn.valid()) {
          EXPECT_EQ(inside.fetch_add(1), 0);
          std::this_thread::yield();
          inside.fetch_sub(1);
        }
        (turn.valid() ? taken : given_up).fetch_add(1);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(taken + given_up, 12000U);
  EXPECT_GT(given_up, 0U);
  Deadline deadline(real_scheduler(), 1min);
  const Order::Turn last(order, deadline);
  EXPECT_TRUE(last.valid());
  EXPECT_EQ(last.number(), 12001U);
}

TEST(Order, many_threads_one_at_a_time) {
  constexpr int threads = 4;
  constexpr int rounds = 5000;
  Order order(real_scheduler());
  std::atomic<int> inside{0};
  std::atomic<int> wrong{0};
  std::uint64_t last = 0;  // guarded by the turn itself
  const auto work = [&] {
    for (int i = 0; i < rounds; ++i) {
      Deadline deadline(real_scheduler(), 1min);
      const Order::Turn turn(order, deadline);
      if (!turn.valid() || inside.fetch_add(1) != 0 || turn.number() != last + 1) ++wrong;
      last = turn.number();
      inside.fetch_sub(1);
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work);
  for (std::thread& each : all) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(last, std::uint64_t{threads * rounds});
}

}  // namespace
