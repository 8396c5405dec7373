#pragma once
/// Times of calls, the same statistics on every rank.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "rondo/group.hpp"

namespace rondo::tools::bench {

enum class Mode : std::uint8_t {
  back_to_back,  ///< a sample is a batch of calls with nothing between them
  fenced,        ///< a sample is one call; a barrier stands before it
};

struct Effort {
  Mode mode = Mode::back_to_back;
  double seconds = 0.2;                ///< per row, where the number of samples is not given
  int warm_up = 3;                     ///< calls
  std::optional<std::size_t> samples;  ///< -n
  std::optional<std::size_t> batch;    ///< -m: calls of a sample
};

struct Timing {
  double min = 0;  ///< seconds per call
  double median = 0;
  double p99 = 0;
  std::size_t samples = 0;
  std::size_t batch = 0;
  std::vector<double> rank_medians;  ///< of each rank's own times, not of the slowest rank's
  bool stopped = false;              ///< ended early, on all ranks

  /// The rank whose own median is the largest; the first of them when they are equal.
  int slowest() const noexcept;
};

/// Of samples in seconds per call: nearest rank for the percentile, the mean of the two in the middle for an
/// even number. `samples` is not empty.
Timing summary(std::vector<double> samples);

/// How many samples of how many calls: equal on all ranks when `seconds_per_call` is.
struct Plan {
  std::size_t samples;
  std::size_t batch;
};
Plan plan_for(double seconds_per_call, const Effort& effort);

/// Collective. A sample is as long as it was on the slowest rank. Several calls take turns, some ten times or
/// more: A B C A B C. Over `control` the ranks meet between turns. When `stop` is true on any rank, it ends
/// soon after on all.
std::vector<Timing> measure(const Group& control, std::span<const std::function<void()>> calls,
                            const Effort& effort, const std::function<bool()>& stop);

/// What one look at the clock costs, in seconds: the least of a few means.
double clock_cost();

}  // namespace rondo::tools::bench
