#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace rondo::tools::bench {

namespace {

using Clock = std::chrono::steady_clock;

// A sample is at least so long, so that the two looks at the clock do not count.
constexpr double least_sample = 20e-6;
// So often the ranks tell each other their times, and whether somebody wants to stop.
constexpr double round_seconds = 0.1;
// Of several calls, each has its turn so often.
constexpr int least_turns = 10;
constexpr std::size_t least_samples = 10;
constexpr std::size_t most_samples = 5000;
constexpr std::size_t most_batch = 4096;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double time_calls(const std::function<void()>& call, std::size_t calls) {
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < calls; ++i) call();
  return seconds_since(start);
}

double slowest(const Group& group, double seconds) {
  group.all_max(std::span(&seconds, 1));
  return seconds;
}

// Seconds per call, the same on all ranks. Warms up further on the way.
double estimate(const Group& group, const std::function<void()>& call, const Effort& effort) {
  const double enough = effort.seconds / 10;
  for (std::size_t calls = 1;; calls *= 2) {
    const double seconds = slowest(group, time_calls(call, calls));
    if (seconds >= enough || calls >= most_batch) return seconds / static_cast<double>(calls);
  }
}

std::size_t whole(double value, std::size_t least, std::size_t most) {
  if (!(value > static_cast<double>(least))) return least;
  return value < static_cast<double>(most) ? static_cast<std::size_t>(value) : most;
}

}  // namespace

Timing summary(std::vector<double> samples) {
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  Timing timing;
  timing.samples = n;
  timing.min = samples.front();
  timing.median = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  const std::size_t place = (99 * n + 99) / 100;  // rounded up
  timing.p99 = samples[place - 1];
  return timing;
}

Plan plan_for(double seconds_per_call, const Effort& effort) {
  const double call = std::max(seconds_per_call, 1e-9);
  Plan plan{};
  plan.batch = effort.mode == Mode::fenced
                   ? 1
                   : effort.batch.value_or(whole(std::ceil(least_sample / call), 1, most_batch));
  plan.samples = effort.samples.value_or(
      whole(effort.seconds / (call * static_cast<double>(plan.batch)), least_samples, most_samples));
  return plan;
}

namespace {

/// What has been measured of one call.
struct Course {
  const std::function<void()>* call;
  Plan plan{};
  std::size_t per_round = 0;
  std::vector<double> samples;  // as long as on the slowest rank
  std::vector<double> own;      // as long as on this rank

  std::size_t next() const noexcept { return std::min(per_round, plan.samples - samples.size()); }
};

Course begin(const Group& control, const std::function<void()>& call, const Effort& effort, double turn) {
  Course course;
  course.call = &call;
  for (int i = 0; i < effort.warm_up; ++i) call();
  const bool planned = effort.samples && (effort.batch || effort.mode == Mode::fenced);
  const double guess = planned ? 1e-3 : estimate(control, call, effort);  // planned: only for the rounds
  course.plan = plan_for(guess, effort);
  const double sample_guess = std::max(guess, 1e-6) * static_cast<double>(course.plan.batch);
  course.per_round = whole(turn / sample_guess, 1, course.plan.samples);
  course.samples.reserve(course.plan.samples);
  return course;
}

void take_turn(const Group& control, Course& course, const Effort& effort) {
  for (std::size_t left = course.next(); left > 0; --left) {
    if (effort.mode == Mode::fenced) control.barrier();
    course.own.push_back(time_calls(*course.call, course.plan.batch) /
                         static_cast<double>(course.plan.batch));
  }
}

// Ranks tell each other what the turn's samples were, and whether one of them wants to stop.
bool agree(const Group& control, std::span<Course> courses, bool stop) {
  std::vector<double> round;
  for (const Course& each : courses)
    round.insert(round.end(), each.own.begin() + static_cast<std::ptrdiff_t>(each.samples.size()),
                 each.own.end());
  round.push_back(stop ? 1 : 0);
  control.all_max(round);
  auto from = round.begin();
  for (Course& each : courses) {
    const auto to = from + static_cast<std::ptrdiff_t>(each.own.size() - each.samples.size());
    each.samples.insert(each.samples.end(), from, to);
    from = to;
  }
  return round.back() > 0;
}

Timing timing_of(const Group& control, Course& course) {
  Timing timing = summary(std::move(course.samples));
  timing.batch = course.plan.batch;
  const double mine = summary(std::move(course.own)).median;
  timing.rank_medians.resize(static_cast<std::size_t>(control.size()));
  control.all_gather(std::span(&mine, 1), timing.rank_medians);
  return timing;
}

}  // namespace

std::vector<Timing> measure(const Group& control, std::span<const std::function<void()>> calls,
                            const Effort& effort, const std::function<bool()>& stop) {
  const bool several = calls.size() > 1;
  const double turn = several ? std::min(round_seconds, effort.seconds / least_turns) : round_seconds;
  std::vector<Course> courses;
  for (const auto& call : calls) courses.push_back(begin(control, call, effort, turn));
  const auto unfinished = [](const Course& each) { return each.next() > 0; };
  bool stopped = false;
  while (!stopped && std::ranges::any_of(courses, unfinished)) {
    for (Course& each : courses) {
      if (each.next() == 0) continue;
      if (several) (*each.call)();  // the first after another's turn finds cold caches
      take_turn(control, each, effort);
    }
    stopped = agree(control, courses, stop());
  }
  std::vector<Timing> timings;
  for (Course& each : courses) {
    timings.push_back(timing_of(control, each));
    timings.back().stopped = stopped;
  }
  return timings;
}

int Timing::slowest() const noexcept {
  return static_cast<int>(std::ranges::max_element(rank_medians) - rank_medians.begin());
}

double clock_cost() {
  constexpr int looks = 1000;
  double least = 1;
  for (int sample = 0; sample < 5; ++sample) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < looks; ++i) (void)Clock::now();
    least = std::min(least, seconds_since(start) / (looks + 1));
  }
  return least;
}

}  // namespace rondo::tools::bench
