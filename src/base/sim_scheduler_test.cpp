#include "base/sim_scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using rondo::base::Event;
using rondo::base::never;
using rondo::base::SimScheduler;
using rondo::base::TimePoint;
using namespace std::chrono_literals;

constexpr TimePoint start{};

// Who ran in which order when four threads give way a few times each. Only one runs at a time, so no lock.
std::string trace(std::uint64_t seed) {
  SimScheduler scheduler(seed);
  Event event(scheduler);
  std::string order;
  std::vector<std::function<void()>> mains;
  for (char name = 'a'; name < 'e'; ++name) {
    mains.emplace_back([&, name] {
      for (int turn = 0; turn < 6; ++turn) {
        order += name;
        const std::uint32_t ticket = event.ticket();
        switch (turn % 3) {
          case 0:
            scheduler.yield();
            break;
          case 1:
            event.ring();
            scheduler.sleep_until(scheduler.now() + std::chrono::milliseconds(name - 'a'));
            break;
          default:
            order += event.wait(ticket, scheduler.now() + 2ms) ? '+' : '-';
        }
      }
    });
  }
  scheduler.run(std::move(mains));
  return order;
}

TEST(SimScheduler, the_same_seed_is_the_same_run) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(trace(seed), trace(seed)) << seed;
}

TEST(SimScheduler, other_seeds_are_other_runs) {
  std::set<std::string> traces;
  for (std::uint64_t seed = 0; seed < 20; ++seed) traces.insert(trace(seed));
  EXPECT_GE(traces.size(), 15U);
}

TEST(SimScheduler, every_thread_gets_its_turns) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::string order = trace(seed);
    for (char name = 'a'; name < 'e'; ++name) EXPECT_EQ(std::count(order.begin(), order.end(), name), 6);
  }
}

TEST(SimScheduler, time_jumps_to_the_nearest_limit) {
  SimScheduler scheduler(7);
  Event event(scheduler);
  std::vector<std::pair<char, TimePoint>> woken;
  scheduler.run({[&] {
                   scheduler.sleep_until(start + 5h);
                   woken.emplace_back('a', scheduler.now());
                 },
                 [&] {
                   EXPECT_FALSE(event.wait(event.ticket(), start + 20min));
                   woken.emplace_back('b', scheduler.now());
                   scheduler.sleep_until(start + 7h);
                   woken.emplace_back('b', scheduler.now());
                 },
                 [&] {
                   scheduler.sleep_until(start + 1ns);
                   woken.emplace_back('c', scheduler.now());
                 }});
  const std::vector<std::pair<char, TimePoint>> expected = {
      {'c', start + 1ns}, {'b', start + 20min}, {'a', start + 5h}, {'b', start + 7h}};
  EXPECT_EQ(woken, expected);
}

TEST(SimScheduler, time_stands_still_while_somebody_can_run) {
  SimScheduler scheduler(3);
  int turns = 0;
  scheduler.run({[&] { scheduler.sleep_until(start + 1s); },
                 [&] {
                   for (; turns < 100; ++turns) {
                     EXPECT_EQ(scheduler.now(), start);
                     scheduler.yield();
                   }
                 }});
  EXPECT_EQ(turns, 100);
  EXPECT_EQ(scheduler.now(), start + 1s);
}

TEST(SimScheduler, a_ring_wakes_every_sleeper_and_costs_no_time) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimScheduler scheduler(seed);
    Event event(scheduler);
    bool open = false;
    int through = 0;
    const auto wait = [&] {
      for (;;) {
        const std::uint32_t ticket = event.ticket();
        if (open) break;
        EXPECT_TRUE(event.wait(ticket, start + 1h));
      }
      ++through;
    };
    scheduler.run({wait, wait, wait, [&] {
                     for (int i = 0; i < 5; ++i) scheduler.yield();
                     open = true;
                     event.ring();
                   }});
    EXPECT_EQ(through, 3);
    EXPECT_EQ(scheduler.now(), start);
  }
}

TEST(SimScheduler, a_ring_wakes_only_who_sleeps_on_that_event) {
  SimScheduler scheduler(5);
  Event rung(scheduler);
  Event other(scheduler);
  scheduler.run({[&] { EXPECT_FALSE(other.wait(other.ticket(), start + 9s)); },
                 [&] {
                   scheduler.sleep_until(start + 1s);
                   rung.ring();
                 }});
  EXPECT_EQ(scheduler.now(), start + 9s);
}

TEST(SimScheduler, when_nobody_can_ever_run_again_all_waits_end) {
  SimScheduler scheduler(1);
  Event event(scheduler);
  int ended = 0;
  const auto wait = [&] {
    EXPECT_FALSE(event.wait(event.ticket(), never));
    ++ended;
  };
  scheduler.run({wait, wait});
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(scheduler.now(), never);
}

TEST(SimScheduler, a_foreign_thread_reads_the_clock_and_never_waits) {
  SimScheduler scheduler(1);
  Event event(scheduler);
  EXPECT_EQ(scheduler.now(), start);
  scheduler.yield();
  const std::uint32_t ticket = event.ticket();
  EXPECT_FALSE(event.wait(ticket, start + 2s));
  EXPECT_EQ(scheduler.now(), start + 2s);
  EXPECT_FALSE(event.wait(ticket, start + 1s));  // the clock does not go back
  EXPECT_EQ(scheduler.now(), start + 2s);
  scheduler.sleep_until(start + 3s);
  EXPECT_EQ(scheduler.now(), start + 3s);
  event.ring();
  EXPECT_TRUE(event.wait(ticket, start + 9s));
  EXPECT_EQ(scheduler.now(), start + 3s);
}

TEST(SimScheduler, a_thread_of_another_scheduler_is_foreign) {
  SimScheduler outer(1);
  SimScheduler inner(2);
  Event event(inner);
  outer.run({[&] {
    EXPECT_FALSE(event.wait(event.ticket(), start + 4s));
    inner.yield();
    inner.sleep_until(start + 6s);
  }});
  EXPECT_EQ(inner.now(), start + 6s);
  EXPECT_EQ(outer.now(), start);
}

TEST(SimScheduler, the_clock_goes_on_in_the_next_run) {
  SimScheduler scheduler(4);
  EXPECT_TRUE(scheduler.simulated());
  for (int run = 1; run <= 3; ++run) {
    scheduler.run({[&] { scheduler.sleep_until(scheduler.now() + 1min); }});
    EXPECT_EQ(scheduler.now(), start + run * 1min);
  }
}

TEST(SimScheduler, draws_are_those_of_the_seed_and_below_the_bound) {
  SimScheduler one(11);
  SimScheduler again(11);
  SimScheduler other(12);
  std::vector<std::uint64_t> ones;
  std::vector<std::uint64_t> others;
  for (int i = 0; i < 200; ++i) {
    ones.push_back(one.draw(10));
    others.push_back(other.draw(10));
    EXPECT_EQ(ones.back(), again.draw(10));
    EXPECT_LT(ones.back(), 10U);
  }
  EXPECT_NE(ones, others);
  EXPECT_EQ(std::set<std::uint64_t>(ones.begin(), ones.end()).size(), 10U);
}

}  // namespace
