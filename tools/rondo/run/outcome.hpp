#pragma once
/// How the ranks ended, and whose fault it was.

#include <optional>
#include <vector>

#include "run/options.hpp"

namespace rondo::tools::run {

struct Ending {
  int rank = 0;
  int wait_status = 0;
};

/// Records endings in the order in which they were seen. Ranks that fail because another failed may be seen
/// before it, so whom to blame stays open until settle().
class Outcome {
 public:
  Outcome(int ranks, OnFailure on_failure) : ranks_(ranks), on_failure_(on_failure) {}

  void ended(const Ending& ending);
  int left() const noexcept { return ranks_ - ended_; }

  /// The rank that failed first: until it is settled, one that was killed by a signal of its own goes before
  /// those that were seen earlier.
  const std::optional<Ending>& culprit() const noexcept { return culprit_; }
  /// Nothing that comes later can change the culprit.
  bool certain() const noexcept;
  void settle() noexcept { settled_ = true; }
  bool settled() const noexcept { return settled_; }

  /// Of the whole job: the culprit's; where the others were to go on, theirs.
  int exit_status() const;

 private:
  int ranks_;
  OnFailure on_failure_;
  int ended_ = 0;
  bool settled_ = false;
  std::optional<Ending> culprit_;
  std::vector<Ending> failures_;
};

/// Whether a wait status tells of a failure.
bool is_failure(int wait_status) noexcept;

}  // namespace rondo::tools::run
