#include "run/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "rondo/config.hpp"
#include "run/help.hpp"

namespace rondo::tools::run {

namespace {

// What a rank is told by `rondo run` alone.
constexpr std::array<std::string_view, 8> own_variables = {
    "RONDO_RANK",       "RONDO_SIZE",     "RONDO_LOCAL_RANK", "RONDO_LOCAL_SIZE",
    "RONDO_RENDEZVOUS", "RONDO_LAUNCHER", "RONDO_SECRET_FD",  "RONDO_SECRET_FILE"};

std::string check_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return fmt::format("expected NAME=VALUE, got \"{}\"", text);
  const std::string_view name = std::string_view(text).substr(0, equals);
  if (std::ranges::find(own_variables, name) == own_variables.end()) return {};
  return fmt::format("{} is set by rondo run itself", name);
}

std::string check_time(const std::string& text) {
  if (parse_time(text)) return {};
  return fmt::format("expected a time such as 60, 1.5s, 250ms or 2min, got \"{}\"", text);
}

std::string check_on_failure(const std::string& text) {
  if (text == "stop" || text == "continue") return {};
  return fmt::format("expected stop or continue, got \"{}\"", text);
}

std::string check_ranks(const std::string& text) {
  constexpr int most = 100'000;
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && stopped == end && count >= 1 && count <= most) return {};
  return fmt::format("expected a number of ranks from 1 to {}, got \"{}\"", most, text);
}

std::string check_backend(const std::string& text) {
  try {
    (void)parse_backend(text);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

void add_time(CLI::App& app, const std::string& name, const std::function<void(base::Duration)>& take) {
  const CLI::callback_t parse = [take](const CLI::results_t& words) {
    const auto time = parse_time(words.front());
    if (time) take(*time);
    return time.has_value();
  };
  app.add_option(name, parse)->check(CLI::Validator(check_time, ""));
}

}  // namespace

std::optional<base::Duration> parse_time(std::string_view text) {
  double unit = 1;
  for (const auto& [suffix, worth] :
       {std::pair<std::string_view, double>{"ms", 1e-3}, {"min", 60.0}, {"s", 1.0}}) {
    if (!text.ends_with(suffix)) continue;
    text.remove_suffix(suffix.size());
    unit = worth;
    break;
  }
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  constexpr double most_seconds = 1e9;  // beyond that a count of nanoseconds ends
  if (error != std::errc() || stopped != end || !(value >= 0) || value * unit > most_seconds)
    return std::nullopt;
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(value * unit));
}

std::optional<std::vector<std::string>> split_program(std::vector<std::string>& arguments) {
  const auto mark = std::ranges::find(arguments, "--");
  if (mark == arguments.end()) return std::nullopt;
  std::vector<std::string> program(mark + 1, arguments.end());
  arguments.erase(mark, arguments.end());
  return program;
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "Start a program as the ranks of a job on this host");
  run->formatter_fn(
      [](const CLI::App*, const std::string&, CLI::AppFormatMode) { return std::string(run_help); });
  run->add_option("-n", options.ranks)->required()->check(CLI::Validator(check_ranks, ""));
  run->add_option("--env", options.environment)
      ->allow_extra_args(false)
      ->check(CLI::Validator(check_variable, ""));
  run->add_option("--backend", options.backend)->check(CLI::Validator(check_backend, ""));
  run->add_flag("!--no-prefix", options.prefix);
  const CLI::callback_t on_failure = [&options](const CLI::results_t& words) {
    options.on_failure = words.front() == "continue" ? OnFailure::go_on : OnFailure::stop;
    return true;
  };
  run->add_option("--on-failure", on_failure)->check(CLI::Validator(check_on_failure, ""));
  add_time(*run, "--timeout", [&options](base::Duration time) { options.timeout = time; });
  add_time(*run, "--grace", [&options](base::Duration time) { options.grace = time; });
  add_time(*run, "--kill-after", [&options](base::Duration time) { options.kill_after = time; });
  run->add_flag("-v,--verbose", options.verbose);
  return run;
}

}  // namespace rondo::tools::run
