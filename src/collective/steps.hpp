#pragma once
/// The steps of a call among ranks that share memory.

#include "collective/algorithms.hpp"

namespace rondo::collective {

/// The steps of one call in an arena: the first is meet(), the others are arrive().
class Steps {
 public:
  explicit Steps(Channel& channel) noexcept : channel_(channel) {}
  /// Makes a step: what was written to the own slot may be read by others.
  void make() {
    if (met_) {
      channel_.arrive();
    } else {
      channel_.meet();  // which waits for all
    }
    met_ = true;
  }
  /// Waits until all ranks have made the step that this rank made last, if it has made one.
  void all() {
    if (met_) channel_.await_all();
  }
  /// Waits until `rank` has made it.
  void one(int rank) { channel_.await(rank); }

 private:
  Channel& channel_;
  bool met_ = false;
};

}  // namespace rondo::collective
