#include "bench/runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <memory>

#include "bench/floor_model.hpp"

namespace rondo::tools::bench {

namespace {

constexpr int failed = 1;
constexpr int interrupted = 130;  // as a shell says it of SIGINT

std::size_t sum_over_ranks(const Group& group, std::size_t value) {
  auto sum = static_cast<std::uint64_t>(value);
  group.all_sum(std::span(&sum, 1));
  return sum;
}

Telling how_to_tell(bool reports, const BenchOptions& options) {
  if (!reports) return Telling::silent;
  if (::isatty(STDERR_FILENO) == 1) return Telling::in_place;
  return options.progress ? Telling::lines : Telling::silent;
}

std::string words_for(const BenchTest& test, const Case& what, int ranks) {
  return fmt::format("{} {} B {}", test.name, bytes_for(test.verb, what.count, what.dtype, ranks),
                     what.in_place ? "in place" : "out of place");
}

}  // namespace

Runner::Runner(const Field& field, const BenchOptions& options, Report* report, const Floors* floors,
               std::function<bool()> stop)
    : field_(field), options_(options), report_(report), floors_(floors), stop_(std::move(stop)) {
  ending_.checked = options.check;
}

int Runner::run(const std::vector<BenchTest>& tests) {
  try {
    run_all(plan(tests));
  } catch (const std::exception& error) {
    ending_.error = error.what();
    end();
    throw;
  }
  end();
  return ending_.wrong != 0 ? failed : ending_.interrupted ? interrupted : 0;
}

void Runner::end() {
  if (report_ == nullptr) return;
  ending_.trip = cross_core_trip();
  report_->end(ending_);
}

std::vector<Runner::Planned> Runner::plan(const std::vector<BenchTest>& tests) const {
  std::vector<Planned> cases;
  for (const BenchTest& test : tests) {
    const VerbInfo& info = info_of(test.verb);
    for (const std::size_t count : counts_of_sweep(options_, test.verb, field_.control.size())) {
      Case what{test.verb, options_.dtype,        test.op, info.rooted ? options_.root : 0, count,
                false,     options_.shared_memory};
      if (info.out_of_place && options_.placement != Placement::in) cases.push_back({&test, what});
      what.in_place = true;
      if (info.in_place && options_.placement != Placement::out) cases.push_back({&test, what});
    }
  }
  return cases;
}

void Runner::run_all(const std::vector<Planned>& cases) {
  ProgressLine progress(how_to_tell(report_ != nullptr, options_), cases.size());
  for (const Planned& each : cases) {
    if (ending_.interrupted) return;
    progress.begin(words_for(*each.test, each.what, field_.control.size()));
    const std::vector<Row> rows = measure_rows(each);
    progress.clear();
    if (report_ == nullptr) continue;
    for (const Row& row : rows) report_->row(row);
  }
}

std::vector<Row> Runner::measure_rows(const Planned& planned) {
  std::vector<std::unique_ptr<Workload>> work;
  std::vector<std::function<void()>> calls;
  for (const Contender& each : field_.contenders) {
    work.push_back(std::make_unique<Workload>(each.group, planned.what));
    work.back()->prepare();
    calls.emplace_back([workload = work.back().get()] { workload->call(); });
  }
  std::vector<Timing> timings = measure(field_.control, calls, options_.effort, stop_);
  std::vector<Row> rows(timings.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].timing = std::move(timings[i]);
    ending_.interrupted = ending_.interrupted || rows[i].timing.stopped;
    if (options_.check) check(rows[i], *work[i]);
    fill(rows[i], planned, field_.contenders[i], static_cast<double>(work[i]->operations()));
    if (i > 0) rows[i].ratio = rows[i].timing.median / rows[0].timing.median;
  }
  return rows;
}

void Runner::check(Row& row, Workload& work) {
  work.prepare();
  work.call();
  row.wrong = sum_over_ranks(field_.control, work.wrong());
  ending_.wrong += *row.wrong;
}

void Runner::fill(Row& row, const Planned& planned, const Contender& contender, double operations) const {
  const auto& [test, what] = planned;
  const VerbInfo& info = info_of(test->verb);
  const int ranks = field_.control.size();
  row.test = test->name;
  row.backend = contender.name;
  row.in_place = what.in_place;
  row.bytes = bytes_for(test->verb, what.count, what.dtype, ranks);
  row.count = what.count;
  row.dtype = what.dtype;
  if (info.reduces) row.op = what.op;
  if (info.rooted) row.root = what.root;
  for (double* time : {&row.timing.min, &row.timing.median, &row.timing.p99}) *time /= operations;
  for (double& time : row.timing.rank_medians) time /= operations;
  set_bandwidths(row, test->verb, ranks);
  if (floors_ == nullptr) return;
  row.floor = floor_of(*floors_, contender.group.backend(),
                       {test->verb, row.bytes, ranks, what.in_place, options_.effort.mode == Mode::fenced});
}

}  // namespace rondo::tools::bench
