#include "run/sink.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace rondo::tools::run {

void Sink::flush() {
  if (broken()) {
    queue_.clear();
    written_ = 0;
    return;
  }
  // poll() promises room for this much in a pipe.
  const std::size_t piece = std::min<std::size_t>(queue_.size() - written_, PIPE_BUF);
  if (piece == 0) return;
  const ssize_t wrote = ::write(fd_, queue_.data() + written_, piece);
  if (wrote < 0) {
    if (errno != EINTR && errno != EAGAIN) error_ = errno;
    return;
  }
  written_ += static_cast<std::size_t>(wrote);
  if (written_ == queue_.size() || written_ > most_queued) {
    queue_.erase(0, written_);
    written_ = 0;
  }
}

bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace rondo::tools::run
