// The command `rondo`: reads its arguments and hands over to the subcommand.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "run/launcher.hpp"
#include "run/options.hpp"
#include "run/system.hpp"

namespace rondo::tools {
namespace {

constexpr int wrong_usage = 2;
constexpr int failed = 1;

const char* const help = R"(rondo - groups, collectives and messages of typed tensors

Usage:
  rondo COMMAND [OPTIONS]

Commands:
  run        Start a program as the ranks of a job on this host

Options:
  -h, --help     Print this. `rondo COMMAND --help` tells about a command.
  --version      Print the version.
)";

int complain(const std::string& command, const std::string& what) {
  fmt::print(stderr, "{}: {}\nTry '{} --help'.\n", command, what, command);
  return wrong_usage;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return text;
}

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) variables.emplace_back(*each);
  return variables;
}

int run(const RunOptions& options) {
  try {
    open_standard_descriptors();
    raise_descriptor_limit();
    return Launcher(options, environment()).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "rondo run: {}\n", error.what());
    return failed;
  }
}

int main_of(std::vector<std::string> arguments) {
  CLI::App app;
  RunOptions options;
  app.formatter_fn([](const CLI::App*, const std::string&, CLI::AppFormatMode) { return std::string(help); });
  app.set_version_flag("--version", "rondo " RONDO_VERSION);
  CLI::App* const run_command = add_run(app, options);
  const auto program = split_program(arguments);
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> unknown = app.remaining(true);
    if (!run_command->parsed()) return complain("rondo", fmt::format("unknown: {}", quoted(unknown)));
    const bool option = unknown.front().starts_with('-');
    return complain(
        "rondo run",
        option ? fmt::format("unknown option: {}", quoted(unknown))
               : fmt::format("the program stands behind --: rondo run -n COUNT -- {} ...", unknown.front()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return complain(run_command->parsed() ? "rondo run" : "rondo", error.what());
  }
  if (!run_command->parsed()) return complain("rondo", "no command given");
  if (!program || program->empty())
    return complain("rondo run", "no program given: rondo run -n COUNT -- PROGRAM [ARGUMENTS]");
  options.program = *program;
  return run(options);
}

}  // namespace
}  // namespace rondo::tools

int main(int argc, char** argv) { return rondo::tools::main_of({argv + 1, argv + argc}); }
