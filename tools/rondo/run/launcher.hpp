#pragma once
/// One job from its start to its end.

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/scheduler.hpp"
#include "run/input.hpp"
#include "run/nursery.hpp"
#include "run/options.hpp"
#include "run/outcome.hpp"
#include "run/output.hpp"
#include "run/services.hpp"
#include "run/signals.hpp"
#include "run/system.hpp"

namespace rondo::tools::run {

class Launcher {
 public:
  /// `environment`: NAME=VALUE, what this process was given. Starts the ranks. Throws Problem(unavailable).
  Launcher(const RunOptions& options, const std::vector<std::string>& environment);
  ~Launcher();

  /// Until all is over. Returns the exit status.
  int run();

 private:
  void turn();
  int time_to_wait() const;
  void hear_ranks();
  void obey(const Report& report);
  void cannot_start(const Report& report);
  void obey(int signal);
  void look_at_clock();
  void settle();
  void pass_on_reports();
  void kill_all();
  void say(const std::string& line) { output_.say("rondo run: " + line); }

  const RunOptions options_;
  std::set<int> kept_;  // children that this process had before
  Signals signals_;
  Secret secret_;
  Services services_;
  Output output_;
  Input input_;
  std::optional<Nursery> nursery_;
  Outcome outcome_;

  bool told_to_end_ = false;  // by a signal, the limit or a rank that cannot start: endings are no news
  int requests_to_end_ = 0;   // INT and TERM
  std::optional<int> own_status_;
  bool ranks_over_ = false;
  bool no_output_ = false;  // give up what is still to be written
  std::optional<base::TimePoint> limit_at_;
  std::optional<base::TimePoint> settle_at_;
  std::optional<base::TimePoint> term_at_;
  std::optional<base::TimePoint> kill_at_;

  Wake reported_;
  std::mutex mutex_;
  std::vector<std::string> reports_;  // of the services' threads
};

}  // namespace rondo::tools::run
