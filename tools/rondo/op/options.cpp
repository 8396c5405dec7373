#include "op/options.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "op/help.hpp"

namespace rondo::tools::op {

namespace {

enum class Takes : std::uint8_t {
  nothing,
  op,
  root,
  op_and_root,
  counts,
  op_and_counts,
  root_and_counts,
  send_counts,
  pair
};

struct Operation {
  std::string_view name;
  OpKind kind;
  ReduceOp op;  // where none is asked for
  Takes takes;
};

constexpr std::array<Operation, 21> operations = {{
    {"all_sum", OpKind::all_reduce, ReduceOp::sum, Takes::nothing},
    {"all_prod", OpKind::all_reduce, ReduceOp::product, Takes::nothing},
    {"all_min", OpKind::all_reduce, ReduceOp::min, Takes::nothing},
    {"all_max", OpKind::all_reduce, ReduceOp::max, Takes::nothing},
    {"all_mean", OpKind::all_reduce, ReduceOp::mean, Takes::nothing},
    {"all_reduce", OpKind::all_reduce, ReduceOp::sum, Takes::op},
    {"reduce", OpKind::reduce, ReduceOp::sum, Takes::op_and_root},
    {"all_gather", OpKind::all_gather, ReduceOp::sum, Takes::nothing},
    {"all_gather_v", OpKind::all_gather_v, ReduceOp::sum, Takes::nothing},
    {"gather", OpKind::gather, ReduceOp::sum, Takes::root},
    {"gather_v", OpKind::gather_v, ReduceOp::sum, Takes::root},
    {"sum_scatter", OpKind::reduce_scatter, ReduceOp::sum, Takes::nothing},
    {"sum_scatter_v", OpKind::reduce_scatter_v, ReduceOp::sum, Takes::counts},
    {"reduce_scatter", OpKind::reduce_scatter, ReduceOp::sum, Takes::op},
    {"reduce_scatter_v", OpKind::reduce_scatter_v, ReduceOp::sum, Takes::op_and_counts},
    {"broadcast", OpKind::broadcast, ReduceOp::sum, Takes::root},
    {"scatter", OpKind::scatter, ReduceOp::sum, Takes::root},
    {"scatter_v", OpKind::scatter_v, ReduceOp::sum, Takes::root_and_counts},
    {"all_to_all", OpKind::all_to_all, ReduceOp::sum, Takes::nothing},
    {"all_to_all_v", OpKind::all_to_all_v, ReduceOp::sum, Takes::send_counts},
    {"sendrecv", OpKind::sendrecv, ReduceOp::sum, Takes::pair},
}};
constexpr std::string_view barrier = "barrier";

std::string operation_names() {
  std::string names;
  for (const Operation& each : operations) names += fmt::format("{}, ", each.name);
  return names + std::string(barrier);
}

std::size_t parse_count(std::string_view word, const std::string& list) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  if (!whole || count > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    throw UsageError(fmt::format("expected counts of rows such as 2,0,3, got \"{}\"", list));
  return count;
}

std::vector<std::string_view> cut(std::string_view text, char mark) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    at = text.find(mark);
    words.push_back(text.substr(0, at));
    if (at != std::string_view::npos) text.remove_prefix(at + 1);
  }
  return words;
}

Counts parse_counts(std::string_view words, const std::string& list) {
  Counts counts;
  for (const std::string_view word : cut(words, ',')) counts.push_back(parse_count(word, list));
  return counts;
}

int parse_rank(std::string_view option, const std::string& word) {
  int rank = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
  if (error == std::errc() && end == word.data() + word.size()) return rank;
  throw UsageError(fmt::format("{}: expected a rank such as 0, got \"{}\"", option, word));
}

std::size_t parse_piece(const std::string& word) {
  std::string_view digits = word;
  unsigned shift = 0;
  for (const auto& [suffix, worth] : {std::pair<std::string_view, unsigned>{"K", 10}, {"M", 20}, {"G", 30}}) {
    if (!digits.ends_with(suffix) && !digits.ends_with(std::string(suffix) + "iB")) continue;
    digits = digits.substr(0, digits.rfind(suffix));
    shift = worth;
  }
  constexpr std::size_t most = std::size_t{1} << 40;
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error == std::errc() && end == digits.data() + digits.size() && count >= 1 && count <= most >> shift)
    return count << shift;
  throw UsageError(
      fmt::format("--piece: expected a size from 1 to 1024G such as 64K, 16M or 1GiB, got \"{}\"", word));
}

ReduceOp parse_op_name(const std::string& name) {
  if (const auto op = parse_reduce_op(name)) return *op;
  std::string names;
  for (int i = 0; i < reduce_op_count; ++i)
    names += fmt::format("{}{}", i > 0 ? ", " : "", to_string(static_cast<ReduceOp>(i)));
  throw UsageError(fmt::format("--op: expected one of {}, got \"{}\"", names, name));
}

bool takes_op(Takes takes) {
  return takes == Takes::op || takes == Takes::op_and_root || takes == Takes::op_and_counts;
}
bool takes_root(Takes takes) {
  return takes == Takes::root || takes == Takes::op_and_root || takes == Takes::root_and_counts;
}
bool takes_counts(Takes takes) {
  return takes == Takes::counts || takes == Takes::op_and_counts || takes == Takes::root_and_counts;
}

// An option that would be passed over is a mistake of who wrote it.
void check_fit(const OpWords& words, Takes takes) {
  const auto fits = [&](std::string_view option, bool given, bool taken, bool needed) {
    if (given && !taken) throw UsageError(fmt::format("{} takes no {}", words.operation, option));
    if (needed && !given) throw UsageError(fmt::format("{} needs {}", words.operation, option));
  };
  fits("--op", !words.op.empty(), takes_op(takes), false);
  fits("--root", words.root.has_value(), takes_root(takes), false);
  fits("--counts", !words.counts.empty(), takes_counts(takes), takes_counts(takes));
  fits("--send-counts", !words.send_counts.empty(), takes == Takes::send_counts, takes == Takes::send_counts);
  fits("--from", words.from.has_value(), takes == Takes::pair, takes == Takes::pair);
  fits("--to", words.to.has_value(), takes == Takes::pair, takes == Takes::pair);
}

}  // namespace

CLI::App* add_op(CLI::App& app, OpWords& words) {
  CLI::App* op = app.add_subcommand("op", "A collective on NumPy's .npy files");
  op->formatter_fn(
      [](const CLI::App*, const std::string&, CLI::AppFormatMode) { return std::string(op_help); });
  op->add_option("operation", words.operation);
  op->add_option("input", words.input);
  op->add_option("-o,--output", words.output);
  op->add_option("--op", words.op);
  op->add_option("--counts", words.counts);
  op->add_option("--send-counts", words.send_counts);
  op->add_option("--root", words.root);
  op->add_option("--from", words.from);
  op->add_option("--to", words.to);
  op->add_option("--piece", words.piece);
  op->add_flag("--progress", words.progress)->disable_flag_override();
  return op;
}

OpOptions read_words(const OpWords& words) {
  OpOptions options;
  options.name = words.operation;
  options.progress = words.progress;
  if (words.piece) options.piece = parse_piece(*words.piece);
  if (words.operation.empty()) throw UsageError("no operation given");
  if (words.operation == barrier) {
    if (!words.input.empty() || !words.output.empty()) throw UsageError("barrier takes no files");
    check_fit(words, Takes::nothing);
    return options;
  }
  const auto found = std::ranges::find(operations, words.operation, &Operation::name);
  if (found == operations.end())
    throw UsageError(fmt::format("no operation \"{}\"; there are {}", words.operation, operation_names()));
  if (words.input.empty()) throw UsageError(fmt::format("{} needs an input file", words.operation));
  if (words.output.empty()) throw UsageError(fmt::format("{} needs -o OUTPUT", words.operation));
  check_fit(words, found->takes);
  options.kind = found->kind;
  options.op = words.op.empty() ? found->op : parse_op_name(words.op);
  options.input = words.input;
  options.output = words.output;
  if (words.root) options.root = parse_rank("--root", *words.root);
  if (words.from) options.root = parse_rank("--from", *words.from);
  if (words.to) options.to = parse_rank("--to", *words.to);
  if (!words.counts.empty()) options.counts = parse_counts(words.counts, words.counts);
  if (words.send_counts.empty()) return options;
  for (const std::string_view list : cut(words.send_counts, '/'))
    options.send_counts.push_back(parse_counts(list, words.send_counts));
  return options;
}

std::string file_name(std::string pattern, int rank, int size) {
  for (const auto& [name, value] : {std::pair<std::string_view, int>{"{rank}", rank}, {"{size}", size}}) {
    const std::string digits = std::to_string(value);
    for (std::size_t at = 0; (at = pattern.find(name, at)) != std::string::npos; at += digits.size())
      pattern.replace(at, name.size(), digits);
  }
  return pattern;
}

bool names_each_rank(std::string_view pattern) noexcept {
  return pattern.find("{rank}") != std::string_view::npos;
}

}  // namespace rondo::tools::op
