#pragma once
/// What `rondo run` was asked for.

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.hpp"

namespace rondo::tools::run {

enum class OnFailure : std::uint8_t { stop, go_on };

struct RunOptions {
  int ranks = 0;
  std::vector<std::string> program;      ///< argv; never empty once parsed
  std::vector<std::string> environment;  ///< NAME=VALUE
  std::string backend;                   ///< empty: what the environment says
  bool prefix = true;
  bool verbose = false;
  OnFailure on_failure = OnFailure::stop;
  std::optional<base::Duration> timeout;
  base::Duration grace = std::chrono::seconds(2);
  base::Duration kill_after = std::chrono::seconds(10);
};

/// Adds the subcommand `run`, which fills `options` when it is parsed. What stands behind `--` is no business
/// of the parser: take it away before, with split_program.
CLI::App* add_run(CLI::App& app, RunOptions& options);

/// The arguments behind the first `--`, which leave `arguments` together with it; nothing when there is none.
std::optional<std::vector<std::string>> split_program(std::vector<std::string>& arguments);

/// "60", "1.5s", "250ms", "2min"; nothing when it is no time. Zero is one.
std::optional<base::Duration> parse_time(std::string_view text);

}  // namespace rondo::tools::run
