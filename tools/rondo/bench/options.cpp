#include "bench/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <stdexcept>

#include "bench/help.hpp"

namespace rondo::tools::bench {

namespace {

constexpr std::size_t most_size = std::size_t{1} << 40;
constexpr std::size_t default_most = std::size_t{16} << 20;
constexpr const char* a_size = "a size from 1 to 1024G such as 4, 64K, 16M or 1GiB";

template <class Number>
std::optional<Number> parse_number(std::string_view text, Number least, Number most) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !(value >= least && value <= most)) return std::nullopt;
  return value;
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text != "0" && text != "1") return std::nullopt;
  return text == "1";
}

std::optional<std::vector<Backend>> parse_backends(std::string_view text) {
  std::vector<Backend> backends;
  for (;;) {
    const std::size_t comma = text.find(',');
    try {
      backends.push_back(parse_backend(text.substr(0, comma)));
    } catch (const Error&) {
      return std::nullopt;
    }
    if (comma == std::string_view::npos) return backends;
    text.remove_prefix(comma + 1);
  }
}

std::optional<Placement> parse_placement(std::string_view text) {
  if (text == "out") return Placement::out;
  if (text == "in") return Placement::in;
  if (text == "both") return Placement::both;
  return std::nullopt;
}

// Whether it is shared.
std::optional<bool> parse_memory(std::string_view text) {
  if (text == "own") return false;
  if (text == "shared") return true;
  return std::nullopt;
}

std::string names_of_backends() {
  std::string text;
  for (int i = 0; i < backend_count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(static_cast<Backend>(i)));
  return text;
}

std::string names_of_types() {
  std::string text;
  for (int i = 0; i < dtype_count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(static_cast<DType>(i)));
  return text;
}

std::string names_of_reductions() {
  std::string text;
  for (int i = 0; i < reduce_op_count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", to_string(static_cast<ReduceOp>(i)));
  return text;
}

/// An option whose value `parse` understands (an optional) and `take` keeps.
template <class Parse, class Take>
void add(CLI::App& app, const std::string& names, const std::string& expected, Parse parse, Take take) {
  const auto check = [parse, expected](const std::string& text) {
    return parse(text) ? std::string() : fmt::format("expected {}, got \"{}\"", expected, text);
  };
  const CLI::callback_t keep = [parse, take](const CLI::results_t& words) {
    const auto value = parse(words.front());
    if (value) take(*value);
    return value.has_value();
  };
  app.add_option(names, keep)->check(CLI::Validator(check, ""));
}

void add_sweep(CLI::App& app, BenchOptions& options) {
  const auto size = [](std::string_view text) { return parse_size(text); };
  add(app, "-b,--min-bytes", a_size, size, [&options](std::size_t value) { options.least_bytes = value; });
  add(app, "-e,--max-bytes", a_size, size, [&options](std::size_t value) { options.most_bytes = value; });
  add(
      app, "-f,--factor", "a whole number from 2 to 1024",
      [](std::string_view text) { return parse_number<std::size_t>(text, 2, 1024); },
      [&options](std::size_t value) { options.factor = value; });
}

void add_effort(CLI::App& app, Effort& effort) {
  const auto count = [](std::string_view text) { return parse_number<std::size_t>(text, 1, 1'000'000); };
  constexpr const char* a_count = "a whole number from 1 to 1000000";
  add(app, "-n,--samples", a_count, count, [&effort](std::size_t value) { effort.samples = value; });
  add(app, "-m,--batch", a_count, count, [&effort](std::size_t value) { effort.batch = value; });
  add(
      app, "-w,--warm-up", "a whole number from 0 to 1000000",
      [](std::string_view text) { return parse_number(text, 0, 1'000'000); },
      [&effort](int value) { effort.warm_up = value; });
  add(
      app, "--seconds", "a number of seconds from 0.001 to 3600",
      [](std::string_view text) { return parse_number(text, 0.001, 3600.0); },
      [&effort](double value) { effort.seconds = value; });
  app.add_flag_callback("--fenced", [&effort] { effort.mode = Mode::fenced; });
}

void add_call(CLI::App& app, BenchOptions& options) {
  add(
      app, "-d,--dtype", "one of " + names_of_types(),
      [](std::string_view text) { return parse_dtype(text); },
      [&options](DType value) { options.dtype = value; });
  add(
      app, "--op", "one of " + names_of_reductions(),
      [](std::string_view text) { return parse_reduce_op(text); },
      [&options](ReduceOp value) { options.op = value; });
  add(
      app, "-r,--root", "a rank", [](std::string_view text) { return parse_number(text, 0, 1'000'000); },
      [&options](int value) { options.root = value; });
  add(app, "--place", "out, in or both", parse_placement,
      [&options](Placement value) { options.placement = value; });
  add(app, "--memory", "own or shared", parse_memory,
      [&options](bool value) { options.shared_memory = value; });
  add(app, "-c,--check", "0 or 1", parse_switch, [&options](bool value) { options.check = value; });
  add(app, "--floor", "0 or 1", parse_switch, [&options](bool value) { options.floors = value; });
  add(app, "--backends", "a comma list of " + names_of_backends(), parse_backends,
      [&options](const std::vector<Backend>& value) { options.backends = value; });
  add(
      app, "--ranks", "a number of threads from 1 to 256",
      [](std::string_view text) { return parse_number(text, 1, 256); },
      [&options](int value) { options.threads = value; });
}

// What makes a test impossible, or nothing.
std::string obstacle(const BenchTest& test, const BenchOptions& options, int ranks) {
  const VerbInfo& info = info_of(test.verb);
  if (ranks < info.least_ranks)
    return fmt::format("{} needs {} ranks, there is {}", test.name, info.least_ranks, ranks);
  if (info.reduces && !supported(test.op, options.dtype))
    return fmt::format("{}: {} is not defined on {}", test.name, to_string(test.op),
                       to_string(options.dtype));
  if (info.rooted && options.root >= ranks)
    return fmt::format("--root {}: expected a rank from 0 to {}", options.root, ranks - 1);
  if (options.placement == Placement::in && !info.in_place)
    return fmt::format("--place in: {} has no form in place", test.name);
  if (options.placement == Placement::out && !info.out_of_place)
    return fmt::format("--place out: {} is always in place", test.name);
  return {};
}

BenchTest named_test(const std::string& name, const BenchOptions& options) {
  const auto known = parse_verb(name);
  if (!known) {
    std::string names = "floor, all, all_sum, all_max, all_min, sum_scatter";
    for (const VerbInfo& each : all_verbs()) names += fmt::format(", {}", each.name);
    throw std::invalid_argument(fmt::format("unknown test \"{}\", expected one of {}", name, names));
  }
  if (known->op && options.op && *known->op != *options.op) {
    throw std::invalid_argument(
        fmt::format("{} is a {}, but --op says {}", name, to_string(*known->op), to_string(*options.op)));
  }
  return {name, known->verb, known->op.value_or(options.op.value_or(ReduceOp::sum))};
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, unsigned>, 6> suffixes = {
      {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"K", 10}, {"M", 20}, {"G", 30}}};
  unsigned shift = 0;
  for (const auto& [suffix, worth] : suffixes) {
    if (!text.ends_with(suffix)) continue;
    text.remove_suffix(suffix.size());
    shift = worth;
    break;
  }
  const auto value = parse_number<std::size_t>(text, 1, most_size >> shift);
  return value ? std::optional(*value << shift) : std::nullopt;
}

CLI::App* add_bench(CLI::App& app, BenchOptions& options) {
  CLI::App* bench = app.add_subcommand("bench", "Measure collectives and messages");
  bench->formatter_fn(
      [](const CLI::App*, const std::string&, CLI::AppFormatMode) { return std::string(bench_help); });
  bench->add_option("tests", options.tests);
  add_sweep(*bench, options);
  add_effort(*bench, options.effort);
  add_call(*bench, options);
  CLI::Option* json = bench->add_flag_callback("--json", [&options] { options.format = Format::json; });
  CLI::Option* csv = bench->add_flag_callback("--csv", [&options] { options.format = Format::csv; });
  csv->excludes(json);
  bench->add_option("-o,--output", options.output);
  bench->add_option("--html", options.html);
  bench->add_option("--svg", options.svg);
  bench->add_option("--from", options.from);
  bench->add_flag("--tune", options.tune);
  bench->add_flag("--progress", options.progress);
  return bench;
}

void check_sizes(const BenchOptions& options) {
  if (options.most_bytes && *options.most_bytes < options.least_bytes) {
    throw std::invalid_argument(
        fmt::format("-e {} is less than -b {}", *options.most_bytes, options.least_bytes));
  }
}

std::vector<BenchTest> choose_tests(const BenchOptions& options, int ranks) {
  if (!options.backends.empty() && options.threads > 0)
    throw std::invalid_argument("--backends needs processes (rondo run), but --ranks takes threads");
  if (options.tests.empty())
    throw std::invalid_argument("no test given: rondo bench TEST..., for example all_sum, or all");
  check_sizes(options);
  std::vector<BenchTest> chosen;
  for (const std::string& name : options.tests) {
    if (name == "all") {
      for (const VerbInfo& each : all_verbs()) {
        BenchTest test{std::string(each.name), each.verb, options.op.value_or(ReduceOp::sum)};
        if (obstacle(test, options, ranks).empty()) chosen.push_back(std::move(test));
      }
      continue;
    }
    chosen.push_back(named_test(name, options));
    if (const std::string why = obstacle(chosen.back(), options, ranks); !why.empty())
      throw std::invalid_argument(why);
  }
  if (chosen.empty()) throw std::invalid_argument("no test is left that these options allow");
  return chosen;
}

std::vector<std::size_t> counts_of_sweep(const BenchOptions& options, BenchVerb verb, int ranks) {
  const std::size_t most = options.most_bytes.value_or(std::max(default_most, options.least_bytes));
  std::vector<std::size_t> counts;
  for (std::size_t bytes = options.least_bytes; bytes <= most; bytes *= options.factor) {
    const std::size_t count = count_for(verb, bytes, options.dtype, ranks);
    if (counts.empty() || counts.back() != count) counts.push_back(count);
  }
  return counts;
}

}  // namespace rondo::tools::bench
