#pragma once
/// `rondo bench --tune`: which algorithm is the fastest here, as a file for RONDO_TUNING.

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/options.hpp"
#include "rondo/group.hpp"

namespace rondo::tools::bench {

/// What was measured for one collective and one kind of elements.
struct TuneSize {
  std::size_t bytes = 0;
  double shipped = 0;              ///< seconds, by the shipped table
  std::vector<double> algorithms;  ///< seconds, of each candidate
};

/// A choice that is clearly better than the shipped one, for sizes from one to another.
struct TuneRange {
  std::size_t from = 0;              ///< inclusive, like the next
  std::optional<std::size_t> up_to;  ///< nothing: all above
  std::size_t algorithm = 0;         ///< index of the candidate
};

/// Sizes in order. A candidate must take less than `needed` of the shipped choice's time. Between two sizes
/// the border is half-way, on a logarithmic axis; beyond the last one its choice goes on.
std::vector<TuneRange> better_choices(const std::vector<TuneSize>& sizes, double needed);

/// Measures on every rank; rank 0 tells of every size on `out`, and writes the file. Gives the exit status:
/// 0, or 130 when it was ended early, and no file was changed. Throws std::invalid_argument for options that
/// do not fit.
int bench_tune(const Group& control, const BenchOptions& options, std::ostream& out,
               const std::function<bool()>& stop);

}  // namespace rondo::tools::bench
