#include "bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <thread>

#include "base/fd.hpp"
#include "bench/contenders.hpp"
#include "bench/drawing.hpp"
#include "bench/facts.hpp"
#include "bench/floor_report.hpp"
#include "bench/report.hpp"
#include "bench/runner.hpp"
#include "bench/tune.hpp"

namespace rondo::tools::bench {

namespace {

constexpr int wrong_usage = 2;
constexpr int failed = 1;

// For the floors of a sweep: between their sizes it is a straight line, beyond the last one the last rate.
constexpr std::size_t least_floor_size = std::size_t{16} << 10;
constexpr std::size_t most_floor_size = std::size_t{64} << 20;
constexpr double seconds_per_figure = 0.004;

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

// Floors are those of one machine, and of cores that talk to each other.
bool has_floors(const Field& field, const BenchOptions& options) {
  return options.floors && field.control.size() > 1 && field.control.local_size() == field.control.size();
}

FloorPlan plan_of_floors(const Field& field, const BenchOptions& options,
                         const std::vector<BenchTest>& tests) {
  std::size_t most = least_floor_size;
  for (const BenchTest& test : tests) {
    const std::size_t count = counts_of_sweep(options, test.verb, field.control.size()).back();
    most = std::max(most, bytes_for(test.verb, count, options.dtype, field.control.size()));
  }
  FloorPlan plan;
  for (std::size_t bytes = 4; bytes <= std::min(most, most_floor_size); bytes *= 4)
    plan.sizes.push_back(bytes);
  plan.seconds = seconds_per_figure;
  plan.everything = false;
  plan.tcp = std::ranges::any_of(field.contenders,
                                 [](const Contender& each) { return each.group.backend() == Backend::tcp; });
  return plan;
}

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
    if (!file_) {
      throw std::invalid_argument(
          fmt::format("-o {}: cannot be written: {}", options.output, base::error_words(errno)));
    }
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

// What is wrong with the options is the same on all ranks; one says it.
int tune_main(const Group& group, const BenchOptions& options) {
  try {
    return bench_tune(group, options, std::cout, HeldSignals::came);
  } catch (const std::invalid_argument& error) {
    return group.rank() == 0 ? explain(error, wrong_usage) : wrong_usage;
  }
}

// Strict where a job is described; a plain shell gives a group of one.
Group join() {
  const Config config = Config::from_env();
  return init(config.rank || config.size || !config.rendezvous.empty());
}

}  // namespace

int bench_rank(const Group& group, const BenchOptions& options, std::ostream* out,
               const std::function<bool()>& stop) {
  const std::vector<BenchTest> tests = choose_tests(options, group.size());
  const Field field = make_field(group, options);
  std::optional<Floors> floors;
  std::unique_ptr<Report> report;
  if (out != nullptr) {
    const std::optional<double> trip = cross_core_trip();
    if (has_floors(field, options)) floors = measure_floors(plan_of_floors(field, options, tests), stop);
    const Columns columns{field.contenders.size() > 1, floors.has_value()};
    report = drawn(make_report(options.format, columns, *out), options);
    report->begin(facts_of(field, options, trip));
  }
  group.barrier();  // the others sleep while one measures the floors
  return Runner(field, options, report.get(), floors ? &*floors : nullptr, stop).run(tests);
}

int bench(const BenchOptions& options) {
  try {
    const HeldSignals held;
    if (!options.from.empty()) return Config::from_env().rank.value_or(0) != 0 ? 0 : draw_from(options);
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
    if (options.tune) return tune_main(group, options);
    Output output(options, group.rank() == 0);
    return output.closed(rank_main(group, options, output.stream()));
  } catch (const std::invalid_argument& error) {
    return explain(error, wrong_usage);
  } catch (const std::exception& error) {
    return explain(error, failed);
  }
}

}  // namespace rondo::tools::bench
