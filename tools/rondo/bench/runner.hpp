#pragma once
/// The rows of a bench, one after the other, on one rank.

#include <functional>
#include <vector>

#include "bench/contenders.hpp"
#include "bench/floor.hpp"
#include "bench/options.hpp"
#include "bench/progress_line.hpp"
#include "bench/report.hpp"
#include "bench/workload.hpp"

namespace rondo::tools::bench {

class Runner {
 public:
  /// `report` is null but on the rank that reports; `floors` too, and where there are none. `stop`: asked now
  /// and then whether to end early.
  Runner(const Field& field, const BenchOptions& options, Report* report, const Floors* floors,
         std::function<bool()> stop);

  /// Gives the exit status: 0, 1 when an element was wrong, 130 when it was ended early.
  int run(const std::vector<BenchTest>& tests);

 private:
  struct Planned {
    const BenchTest* test;
    Case what;
  };

  std::vector<Planned> plan(const std::vector<BenchTest>& tests) const;
  void run_all(const std::vector<Planned>& cases);
  std::vector<Row> measure_rows(const Planned& planned);
  void check(Row& row, Workload& work);
  void fill(Row& row, const Planned& planned, const Contender& contender, double operations) const;
  void end();

  const Field& field_;
  const BenchOptions& options_;
  Report* report_;
  const Floors* floors_;
  std::function<bool()> stop_;
  Ending ending_;
};

}  // namespace rondo::tools::bench
