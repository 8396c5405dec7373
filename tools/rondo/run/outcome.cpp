#include "run/outcome.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "run/words.hpp"

namespace rondo::tools::run {

namespace {

// Killed from outside or by a fault. An abort may be an exception about another rank that nobody caught, a
// broken pipe the end of somebody else, and the rest is how processes are asked to end.
constexpr std::array asked_for = {SIGABRT, SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT};

bool is_own_fault(int wait_status) noexcept {
  return WIFSIGNALED(wait_status) && std::ranges::find(asked_for, WTERMSIG(wait_status)) == asked_for.end();
}

}  // namespace

bool is_failure(int wait_status) noexcept { return wait_status != 0; }

void Outcome::ended(const Ending& ending) {
  ++ended_;
  if (!is_failure(ending.wait_status)) return;
  failures_.push_back(ending);
  if (settled_ && culprit_) return;
  if (!culprit_ || (is_own_fault(ending.wait_status) && !certain())) culprit_ = ending;
}

bool Outcome::certain() const noexcept { return culprit_ && is_own_fault(culprit_->wait_status); }

int Outcome::exit_status() const {
  if (!culprit_) return 0;
  if (on_failure_ == OnFailure::stop || ranks_ == 1) return exit_status_of(culprit_->wait_status);
  const auto other =
      std::ranges::find_if(failures_, [this](const Ending& each) { return each.rank != culprit_->rank; });
  return other == failures_.end() ? 0 : exit_status_of(other->wait_status);
}

}  // namespace rondo::tools::run
