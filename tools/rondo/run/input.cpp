#include "run/input.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "run/system.hpp"

namespace rondo::tools::run {

Input::Input(int terminal, base::Fd pipe) : terminal_(terminal), pipe_(std::move(pipe)) {
  make_nonblocking(pipe_.get());
}

// In the background a read would stop this process.
bool Input::may_read() const noexcept {
  return pipe_ && !ended_ && queue_.empty() && ::tcgetpgrp(terminal_) == ::getpgrp();
}

void Input::append_to(std::vector<pollfd>& polled) {
  if (may_read()) polled.push_back({terminal_, POLLIN, 0});
  if (!queue_.empty()) polled.push_back({pipe_.get(), POLLOUT, 0});
}

void Input::turn() {
  pollfd polled{terminal_, POLLIN, 0};
  if (may_read() && ::poll(&polled, 1, 0) > 0) {
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(terminal_, bytes.data(), bytes.size());
    if (got > 0) queue_.assign(bytes.data(), static_cast<std::size_t>(got));
    ended_ = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
  }
  if (!pipe_) return;
  if (!queue_.empty()) {
    const ssize_t wrote = ::write(pipe_.get(), queue_.data(), queue_.size());
    if (wrote > 0) queue_.erase(0, static_cast<std::size_t>(wrote));
    if (wrote < 0 && errno == EPIPE) {  // rank 0 reads no more
      queue_.clear();
      ended_ = true;
    }
  }
  if (ended_ && queue_.empty()) pipe_.reset();
}

}  // namespace rondo::tools::run
