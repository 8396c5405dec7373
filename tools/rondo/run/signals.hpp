#pragma once
/// The signals that the launcher takes instead of dying of them.

#include <csignal>

#include "base/fd.hpp"

namespace rondo::tools::run {

/// Blocks them for this thread and those it starts, so that they come through a descriptor. Broken pipes are
/// no signal here any more.
class Signals {
 public:
  Signals();

  /// The mask that this process began with.
  const sigset_t& before() const noexcept { return before_; }
  int fd() const noexcept { return fd_.get(); }
  /// The next one that has come, or 0.
  int take();

 private:
  sigset_t before_{};
  base::Fd fd_;
};

}  // namespace rondo::tools::run
