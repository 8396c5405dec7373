#include "base/deadline.hpp"

#include <gtest/gtest.h>

namespace {

using rondo::base::Deadline;
using rondo::base::Duration;
using rondo::base::Event;
using rondo::base::never;
using rondo::base::Scheduler;
using rondo::base::TimePoint;
using namespace std::chrono_literals;

/// A clock moved by hand, which counts its readings.
class HandClock final : public Scheduler {
 public:
  TimePoint now() override {
    ++readings;
    return time;
  }
  void yield() override {}
  void sleep_until(TimePoint until) override { time = until; }
  bool simulated() const noexcept override { return true; }

  TimePoint time{100s};
  int readings = 0;

 private:
  bool park(Event&, std::uint32_t, TimePoint) override { return false; }
  void unpark(Event&) override {}
};

TEST(Deadline, reads_no_clock_before_it_is_looked_at) {
  HandClock clock;
  const Deadline deadline(clock, 5s);
  EXPECT_EQ(deadline.limit(), 5s);
  EXPECT_EQ(deadline.elapsed(), Duration::zero());
  EXPECT_EQ(clock.readings, 0);
}

TEST(Deadline, starts_at_the_first_look) {
  HandClock clock;
  Deadline deadline(clock, 5s);
  clock.time += 30s;
  EXPECT_FALSE(deadline.expired());
  EXPECT_EQ(deadline.end(), TimePoint(135s));
}

TEST(Deadline, is_one_moment_however_often_it_is_asked) {
  HandClock clock;
  Deadline deadline(clock, 5s);
  EXPECT_EQ(deadline.end(), TimePoint(105s));
  clock.time += 4s;
  EXPECT_EQ(deadline.end(), TimePoint(105s));
  EXPECT_FALSE(deadline.expired());
  EXPECT_EQ(deadline.elapsed(), 4s);
  clock.time = TimePoint(105s) - 1ns;
  EXPECT_FALSE(deadline.expired());
  clock.time = TimePoint(105s);
  EXPECT_TRUE(deadline.expired());
  clock.time = TimePoint(200s);
  EXPECT_TRUE(deadline.expired());
  EXPECT_EQ(deadline.end(), TimePoint(105s));
  EXPECT_EQ(deadline.elapsed(), 100s);
}

TEST(Deadline, the_end_is_read_without_the_clock_after_the_start) {
  HandClock clock;
  Deadline deadline(clock, 5s);
  (void)deadline.end();
  EXPECT_EQ(clock.readings, 1);
  (void)deadline.end();
  EXPECT_EQ(clock.readings, 1);
}

TEST(Deadline, no_time_at_all_is_over_at_once) {
  HandClock clock;
  EXPECT_TRUE(Deadline(clock, Duration::zero()).expired());
}

TEST(Deadline, saturates) {
  HandClock clock;
  Deadline longest(clock, Duration::max());
  EXPECT_EQ(longest.end(), never);
  EXPECT_FALSE(longest.expired());
  Deadline just(clock, never - clock.time);
  EXPECT_EQ(just.end(), never);
  Deadline almost(clock, never - clock.time - 1ns);
  EXPECT_EQ(almost.end(), never - 1ns);
}

TEST(Deadline, holds_at_the_end_of_time) {
  HandClock clock;
  clock.time = never;
  Deadline deadline(clock, 5s);
  EXPECT_EQ(deadline.end(), never);
  EXPECT_TRUE(deadline.expired());
}

}  // namespace
