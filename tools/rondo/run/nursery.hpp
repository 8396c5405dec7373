#pragma once
/// The process between the launcher and the ranks: their parent, and of all they leave behind. It has one
/// thread and little to do, so that starting, ending and signalling processes is free of races; and it
/// outlives a launcher that is killed, to take the ranks with it.

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "run/system.hpp"

namespace rondo::tools::run {

/// What a rank starts with. Descriptors belong to whoever made them.
struct Start {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  int in = -1;
  int out = -1;
  int err = -1;
  int secret = -1;  ///< stays open under its number
};

/// What the nursery tells about a rank.
struct Report {
  enum class Kind : std::int32_t {
    began,       ///< value: its process
    ended,       ///< value: what waitpid gave
    not_run,     ///< value: errno of exec; `ended` follows
    not_started  ///< value: errno of fork; nothing follows
  } kind = Kind::began;
  std::int32_t rank = 0;
  std::int32_t value = 0;
};

class Nursery {
 public:
  /// Starts all ranks in a process of their own. For a launcher that has no threads yet. `signals`: the mask
  /// that ranks begin with. Throws Problem(unavailable).
  Nursery(const std::vector<Start>& starts, const sigset_t& signals);
  /// Ends what is left of the ranks and waits for the process.
  ~Nursery();

  /// To be polled for reports.
  int fd() const noexcept { return reports_.read.get(); }
  /// What has come by now. Over: there is nothing left to come, and no process that a rank has started.
  std::vector<Report> take_reports(bool& over);

  /// To all ranks that have not ended, with their process groups.
  void signal_all(int signal) noexcept;
  /// Kills all that is left, ranks too. Reports end when that is done.
  void close() noexcept { commands_.write.reset(); }

 private:
  Pipe commands_;  // a byte: a signal for all; its end: kill all that is left and go
  Pipe reports_;
  pid_t process_ = -1;
};

/// What the process does. Returns its exit status.
int tend_ranks(const std::vector<Start>& starts, const sigset_t& signals, int commands, int reports);

}  // namespace rondo::tools::run
