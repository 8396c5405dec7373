#pragma once
/// `rondo bench`: every test of the sweep, one row after the other.

#include <functional>
#include <iosfwd>

#include "bench/options.hpp"
#include "rondo/group.hpp"

namespace rondo::tools::bench {

/// On every rank. `out` is where rank 0 reports, null on the others. `stop`: asked now and then whether to
/// end early. Gives the exit status: 0, 1 when an element was wrong, 130 when it was ended early. Throws
/// std::invalid_argument for options that do not fit the group, before anything moves.
int bench_rank(const Group& group, const BenchOptions& options, std::ostream* out,
               const std::function<bool()>& stop);

/// The whole command: joins the job of the environment (or makes threads), reports, and gives the exit
/// status: 2 for wrong usage too.
int bench(const BenchOptions& options);

}  // namespace rondo::tools::bench
