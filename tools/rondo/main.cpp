// The command `rondo`: reads its arguments and hands over to the subcommand.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "info/info.hpp"
#include "op/op.hpp"
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
  bench      Measure collectives and messages
  info       Tell what rondo finds here, and what it would do with it
  op         Run a collective on NumPy's .npy files

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

int launch(const run::RunOptions& options) {
  try {
    run::open_standard_descriptors();
    run::raise_descriptor_limit();
    return run::Launcher(options, environment()).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "rondo run: {}\n", error.what());
    return failed;
  }
}

/// A subcommand: its arguments' parser, and what it does once they are read; gives the exit status.
struct Command {
  CLI::App* parser;
  std::function<int()> act;
};

const Command* asked_for(const std::vector<Command>& commands) {
  const auto found =
      std::ranges::find_if(commands, [](const Command& each) { return each.parser->parsed(); });
  return found == commands.end() ? nullptr : &*found;
}

/// What CLI11 says of an option that came without its value, with one too many, or too often.
std::string in_words(const std::string& what) {
  const std::string option = what.substr(0, what.find_first_of(": "));
  if (what.ends_with(" missing")) return option + " needs a value";
  if (what.ends_with("disallowed flag override")) return "--" + option + " takes no value";
  if (what.find("At Most 1 required") != std::string::npos) return option + " is given more than once";
  return what;
}

int complain_about(const std::vector<Command>& commands, const std::string& what) {
  const Command* const command = asked_for(commands);
  return complain(command == nullptr ? "rondo" : "rondo " + command->parser->get_name(), in_words(what));
}

int refuse_unknown(const Command* command, const std::vector<std::string>& words) {
  if (command == nullptr) {
    return complain("rondo",
                    words.front().starts_with('-')
                        ? fmt::format("unknown option: {}", quoted(words))
                        : fmt::format("no command \"{}\"; there are run, bench, info and op", words.front()));
  }
  const std::string name = "rondo " + command->parser->get_name();
  if (words.front().starts_with('-')) return complain(name, fmt::format("unknown option: {}", quoted(words)));
  if (command->parser->get_name() != "run")
    return complain(name, fmt::format("unknown argument: {}", quoted(words)));
  return complain(name,
                  fmt::format("the program stands behind --: rondo run -n COUNT -- {} ...", words.front()));
}

int main_of(std::vector<std::string> arguments) {
  CLI::App app;
  app.formatter_fn([](const CLI::App*, const std::string&, CLI::AppFormatMode) { return std::string(help); });
  app.set_version_flag("--version", "rondo " RONDO_VERSION);
  run::RunOptions run_options;
  const auto program = run::split_program(arguments);
  const auto act_run = [&] {
    if (!program || program->empty())
      return complain("rondo run", "no program given: rondo run -n COUNT -- PROGRAM [ARGUMENTS]");
    run_options.program = *program;
    return launch(run_options);
  };
  bench::BenchOptions bench_options;
  info::InfoOptions info_options;
  op::OpWords op_words;
  const std::vector<Command> commands = {
      {run::add_run(app, run_options), act_run},
      {bench::add_bench(app, bench_options), [&] { return bench::bench(bench_options); }},
      {info::add_info(app, info_options), [&] { return info::info(info_options, environment()); }},
      {op::add_op(app, op_words), [&] { return op::run_op(op_words); }},
  };
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError&) {
    return refuse_unknown(asked_for(commands), app.remaining(true));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return complain_about(commands, error.what());
  }
  const Command* const command = asked_for(commands);
  return command == nullptr ? complain("rondo", "no command given") : command->act();
}

}  // namespace
}  // namespace rondo::tools

int main(int argc, char** argv) { return rondo::tools::main_of({argv + 1, argv + argc}); }
