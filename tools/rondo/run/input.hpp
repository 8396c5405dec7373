#pragma once
/// The terminal's input, on its way to rank 0. Rank 0 cannot read the terminal itself: it is in a process
/// group of its own, which the terminal would stop.

#include <poll.h>

#include <string>
#include <vector>

#include "base/fd.hpp"

namespace rondo::tools::run {

class Input {
 public:
  Input() = default;
  /// Copies from a terminal to a pipe.
  Input(int terminal, base::Fd pipe);

  void append_to(std::vector<pollfd>& polled);
  void turn();

 private:
  bool may_read() const noexcept;

  int terminal_ = -1;
  base::Fd pipe_;  // empty: over
  bool ended_ = false;
  std::string queue_;
};

}  // namespace rondo::tools::run
