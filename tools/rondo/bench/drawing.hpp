#pragma once
/// The files of --html and --svg.

#include <memory>

#include "bench/options.hpp"
#include "bench/report.hpp"

namespace rondo::tools::bench {

/// `report`, and when it ends, the files that the options ask for. Throws std::invalid_argument at once for
/// one that cannot be written.
std::unique_ptr<Report> drawn(std::unique_ptr<Report> report, const BenchOptions& options);

/// Draws the document of --from. Throws std::invalid_argument for one that cannot be read, or is none.
int draw_from(const BenchOptions& options);

}  // namespace rondo::tools::bench
