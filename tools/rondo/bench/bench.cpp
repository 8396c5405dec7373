#include "bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "bench/facts.hpp"
#include "bench/floor_report.hpp"
#include "bench/report.hpp"
#include "bench/workload.hpp"

namespace rondo::tools {

namespace {

constexpr int wrong_usage = 2;
constexpr int failed = 1;
constexpr int interrupted = 130;  // as a shell says it of SIGINT

/// INT and TERM wait until they are asked for: no handler, and no call is cut short. For threads started
/// later as well.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    sigaddset(&held_, SIGINT);
    sigaddset(&held_, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &held_, nullptr);
  }
  static bool came() {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
  }

 private:
  sigset_t held_{};
};

std::size_t sum_over_ranks(const Group& group, std::size_t value) {
  auto sum = static_cast<std::uint64_t>(value);
  group.all_sum(std::span(&sum, 1));
  return sum;
}

/// Runs the rows of a bench on one rank.
class Runner {
 public:
  Runner(const Group& group, const BenchOptions& options, Report* report, std::function<bool()> stop)
      : group_(group), options_(options), report_(report), stop_(std::move(stop)) {
    ending_.checked = options.check;
  }

  int run(const std::vector<BenchTest>& tests) {
    try {
      for (const BenchTest& test : tests) run_test(test);
    } catch (const std::exception& error) {
      ending_.error = error.what();
      if (report_ != nullptr) report_->end(ending_);
      throw;
    }
    if (report_ != nullptr) report_->end(ending_);
    return ending_.wrong != 0 ? failed : ending_.interrupted ? interrupted : 0;
  }

 private:
  void run_test(const BenchTest& test) {
    const VerbInfo& info = info_of(test.verb);
    for (const std::size_t count : counts_of_sweep(options_, test.verb, group_.size())) {
      const Case what{test.verb, options_.dtype, test.op, info.rooted ? options_.root : 0, count, false};
      if (info.out_of_place && options_.placement != Placement::in) run_case(test, what);
      Case in_place = what;
      in_place.in_place = true;
      if (info.in_place && options_.placement != Placement::out) run_case(test, in_place);
    }
  }

  void run_case(const BenchTest& test, const Case& what) {
    if (ending_.interrupted) return;
    Workload work(group_, what);
    work.prepare();
    Row row;
    row.timing = measure(
        group_, [&] { work.call(); }, options_.effort, stop_);
    ending_.interrupted = row.timing.stopped;
    if (options_.check) {
      work.prepare();
      work.call();
      row.wrong = sum_over_ranks(group_, work.wrong());
      ending_.wrong += *row.wrong;
    }
    if (report_ == nullptr) return;
    fill(row, test, what, static_cast<double>(work.operations()));
    report_->row(row);
  }

  void fill(Row& row, const BenchTest& test, const Case& what, double operations) const {
    const VerbInfo& info = info_of(test.verb);
    row.test = test.name;
    row.in_place = what.in_place;
    row.bytes = bytes_for(test.verb, what.count, what.dtype, group_.size());
    row.count = what.count;
    row.dtype = what.dtype;
    if (info.reduces) row.op = what.op;
    if (info.rooted) row.root = what.root;
    for (double* time : {&row.timing.min, &row.timing.median, &row.timing.p99}) *time /= operations;
    set_bandwidths(row, test.verb, group_.size());
  }

  const Group& group_;
  const BenchOptions& options_;
  Report* report_;
  std::function<bool()> stop_;
  Ending ending_;
};

int explain(const std::exception& error, int status) {
  fmt::print(stderr, "rondo bench: {}\n", error.what());
  if (status == wrong_usage) fmt::print(stderr, "Try 'rondo bench --help'.\n");
  return status;
}

// One rank from its group to its status. What is wrong with the options is the same on all; one says it.
int rank_main(const Group& group, const BenchOptions& options, std::ostream& out) {
  try {
    return bench_rank(group, options, group.rank() == 0 ? &out : nullptr, [] { return HeldSignals::came(); });
  } catch (const std::invalid_argument& error) {
    return group.rank() == 0 ? explain(error, wrong_usage) : wrong_usage;
  } catch (const std::exception& error) {
    return explain(error, failed);
  }
}

int bench_threads(const BenchOptions& options, std::ostream& out) {
  std::vector<Group> groups = sim_group(options.threads, Config::from_env());
  std::vector<int> statuses(groups.size(), failed);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < groups.size(); ++i)
    threads.emplace_back(
        [&, i, group = std::move(groups[i])] { statuses[i] = rank_main(group, options, out); });
  for (std::thread& each : threads) each.join();
  return *std::ranges::max_element(statuses);
}

/// Standard output or the file of -o, on the rank that reports.
class Output {
 public:
  Output(const BenchOptions& options, bool reports) {
    if (options.output.empty() || !reports) return;
    file_.open(options.output, std::ios::trunc);
    if (!file_) throw std::invalid_argument(fmt::format("-o {}: the file cannot be written", options.output));
  }
  std::ostream& stream() { return file_.is_open() ? static_cast<std::ostream&>(file_) : std::cout; }
  /// `status`, once all is written.
  int closed(int status) {
    stream().flush();
    if (!stream()) throw std::runtime_error("the result could not be written");
    return status;
  }

 private:
  std::ofstream file_;
};

// Strict where a job is described; a plain shell gives a group of one.
Group join() {
  const Config config = Config::from_env();
  return init(config.rank || config.size || !config.rendezvous.empty());
}

}  // namespace

int bench_rank(const Group& group, const BenchOptions& options, std::ostream* out,
               const std::function<bool()>& stop) {
  const std::vector<BenchTest> tests = choose_tests(options, group.size());
  std::unique_ptr<Report> report;
  if (out != nullptr) {
    report = make_report(options.format, *out);
    report->begin(facts_of(group, options));
  }
  return Runner(group, options, report.get(), stop).run(tests);
}

int bench(const BenchOptions& options) {
  try {
    const HeldSignals held;
    if (std::ranges::find(options.tests, "floor") != options.tests.end()) {
      if (Config::from_env().rank.value_or(0) != 0) return 0;  // one measures; the others must not disturb
      Output output(options, true);
      return output.closed(bench_floor(options, output.stream(), HeldSignals::came));
    }
    if (options.threads > 0) {
      Output output(options, true);
      return output.closed(bench_threads(options, output.stream()));
    }
    const Group group = join();
    Output output(options, group.rank() == 0);
    return output.closed(rank_main(group, options, output.stream()));
  } catch (const std::invalid_argument& error) {
    return explain(error, wrong_usage);
  } catch (const std::exception& error) {
    return explain(error, failed);
  }
}

}  // namespace rondo::tools
