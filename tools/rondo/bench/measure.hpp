#pragma once
/// Times of calls, the same statistics on every rank.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "rondo/group.hpp"

namespace rondo::tools {

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
  bool stopped = false;  ///< ended early, on all ranks
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

/// Collective. A sample is as long as it was on the slowest rank. When `stop` is true on any rank, it ends
/// soon after on all.
Timing measure(const Group& group, const std::function<void()>& call, const Effort& effort,
               const std::function<bool()>& stop);

/// What one look at the clock costs, in seconds.
double clock_cost();

}  // namespace rondo::tools
