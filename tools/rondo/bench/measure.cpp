#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace rondo::tools {

namespace {

using Clock = std::chrono::steady_clock;

// A sample is at least so long, so that the two looks at the clock do not count.
constexpr double least_sample = 20e-6;
// So often the ranks tell each other their times, and whether somebody wants to stop.
constexpr double round_seconds = 0.1;
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

Timing measure(const Group& group, const std::function<void()>& call, const Effort& effort,
               const std::function<bool()>& stop) {
  for (int i = 0; i < effort.warm_up; ++i) call();
  const bool planned = effort.samples && (effort.batch || effort.mode == Mode::fenced);
  const double guess = planned ? 1e-3 : estimate(group, call, effort);  // planned: only for the rounds
  const Plan plan = plan_for(guess, effort);
  const double sample_guess = std::max(guess, 1e-6) * static_cast<double>(plan.batch);
  const std::size_t per_round = whole(round_seconds / sample_guess, 1, plan.samples);

  std::vector<double> samples;
  samples.reserve(plan.samples);
  std::vector<double> round;  // the samples of this round, then whether to stop
  bool stopped = false;
  while (samples.size() < plan.samples && !stopped) {
    round.clear();
    for (std::size_t left = std::min(per_round, plan.samples - samples.size()); left > 0; --left) {
      if (effort.mode == Mode::fenced) group.barrier();
      round.push_back(time_calls(call, plan.batch) / static_cast<double>(plan.batch));
    }
    round.push_back(stop() ? 1 : 0);
    group.all_max(round);
    stopped = round.back() > 0;
    samples.insert(samples.end(), round.begin(), round.end() - 1);
  }
  Timing timing = summary(std::move(samples));
  timing.batch = plan.batch;
  timing.stopped = stopped;
  return timing;
}

double clock_cost() {
  constexpr int looks = 1000;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < looks; ++i) (void)Clock::now();
  return seconds_since(start) / (looks + 1);
}

}  // namespace rondo::tools
