#pragma once
/// Runs the command `rondo` as a shell would.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.hpp"

namespace rondo::test {

/// The program that does what the ranks of a test do.
extern const std::string rank_program;
/// The command itself.
extern const std::string rondo_program;

struct Ended {
  int status = 0;  ///< of the exit, or minus the signal
  std::string out;
  std::string err;
};

/// In a child: signals as a shell in the foreground leaves them. What runs in the background of a script has
/// some of them ignored, and hands that on.
void take_signals();

/// `rondo` with these arguments. Whatever a test waits for here, its watchdog ends.
class Command {
 public:
  struct Options {
    std::string input = {};        ///< standard input; then its end
    std::string environment = {};  ///< NAME=VALUE, one more
    bool closed_output = false;    ///< nobody reads standard output
  };
  explicit Command(const std::vector<std::string>& arguments) : Command(arguments, Options()) {}
  Command(const std::vector<std::string>& arguments, const Options& options);
  ~Command();

  pid_t process() const noexcept { return process_; }
  void signal(int signal) const;
  /// Reads until both outputs together have `count` of this text. Returns what there is of standard output.
  const std::string& await(const std::string& text, std::size_t count = 1);
  /// Until it has ended.
  Ended wait();
  /// After wait(): returns when no process is left that it had started, at any depth.
  void await_nobody();

 private:
  bool read_some();

  pid_t process_ = -1;
  base::Fd out_;
  base::Fd err_;
  base::Fd life_;  // its other end is open in all processes below
  Ended ended_;
};

/// The whole of it, nobody left behind.
Ended run_rondo(const std::vector<std::string>& arguments, const Command::Options& options = {});

/// `run -n COUNT [options] -- sh -c SCRIPT`.
std::vector<std::string> ranks_of_shell(int ranks, const std::vector<std::string>& options,
                                        const std::string& script);
/// `run -n COUNT [options] -- RANK_PROGRAM arguments`.
std::vector<std::string> ranks_of(int ranks, const std::vector<std::string>& options,
                                  const std::vector<std::string>& arguments);

/// The lines of a text, sorted.
std::vector<std::string> sorted_lines(const std::string& text);
std::size_t count_of(const std::string& text, const std::string& part);

}  // namespace rondo::test
