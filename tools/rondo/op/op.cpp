#include "op/op.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "op/options.hpp"
#include "op/perform.hpp"
#include "op/temporaries.hpp"
#include "rondo/config.hpp"
#include "rondo/group.hpp"

namespace rondo::tools::op {

namespace {

constexpr int failed = 1;
constexpr int wrong_usage = 2;

/// In the environment of a job its failure is an error; without one, a group of one is what is wanted.
Group join() {
  const Config config = Config::from_env();
  return init(config.rank || config.size || !config.rendezvous.empty());
}

// One line, whatever a file is called.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

void perform_in_group(const OpOptions& options) {
  Temporaries temporaries;  // before init, which starts threads
  const Group group = join();
  try {
    perform(group, options, temporaries);
  } catch (const std::exception& error) {
    group.abort(one_line(error.what()));  // so that the others do not wait, and know why
    throw;
  }
}

}  // namespace

int run_op(const OpWords& words) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error with words
  try {
    perform_in_group(read_words(words));
    return 0;
  } catch (const UsageError& error) {
    fmt::print(stderr, "rondo op: {}\nTry 'rondo op --help'.\n", one_line(error.what()));
    return wrong_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rondo op: {}\n", one_line(error.what()));
    return failed;
  }
}

}  // namespace rondo::tools::op
