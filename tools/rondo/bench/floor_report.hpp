#pragma once
/// `rondo bench floor`: measures the floors and prints them.

#include <functional>
#include <iosfwd>
#include <string_view>
#include <vector>

#include "bench/floor.hpp"
#include "bench/options.hpp"

namespace rondo::tools::bench {

/// A figure that does not depend on a size.
struct FloorFigure {
  std::string_view name;   ///< as in JSON
  std::string_view title;  ///< for people
  std::optional<double> seconds;
};
std::vector<FloorFigure> figures_of(const Floors& floors);

/// Times over sizes.
struct FloorColumn {
  std::string_view name;
  std::string_view title;
  const Curve* curve;
  int at_once;  ///< so many of them at once: their rates add up
};
/// Those that were measured; they point into `floors`.
std::vector<FloorColumn> columns_of(const Floors& floors);

/// What was measured, in the format of the options.
void print_floors(const Floors& floors, const BenchOptions& options, bool interrupted, std::ostream& out);

/// Gives the exit status: 0, or 130 when it was ended early. Throws std::invalid_argument for options that do
/// not fit.
int bench_floor(const BenchOptions& options, std::ostream& out, const std::function<bool()>& stop);

}  // namespace rondo::tools::bench
