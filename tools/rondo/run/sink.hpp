#pragma once
/// Where the launcher writes: its own standard output or error.

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo::tools::run {

/// Never waits: what cannot be written stays in a queue. The descriptor is not changed, since others may
/// share it.
class Sink {
 public:
  explicit Sink(int fd) : fd_(fd) {}

  int fd() const noexcept { return fd_; }
  void put(std::string_view text) {
    if (!broken()) queue_ += text;
  }
  /// For a LineCutter to append to; what is appended to a broken one goes with the next flush.
  std::string& queue() noexcept { return queue_; }
  bool has_output() const noexcept { return written_ < queue_.size(); }
  /// Whoever brings more should wait.
  bool full() const noexcept { return queue_.size() - written_ > most_queued; }

  /// Writes a piece, for when poll() says that there is room.
  void flush();
  /// Nobody reads it any more, or it cannot be written.
  bool broken() const noexcept { return error_ != 0; }
  /// errno of what broke it.
  int error() const noexcept { return error_; }

 private:
  static constexpr std::size_t most_queued = std::size_t{256} * 1024;

  int fd_;
  std::string queue_;
  std::size_t written_ = 0;
  int error_ = 0;
};

/// Both are the same file, so that lines of one must not cut those of the other.
bool same_file(int a, int b);

}  // namespace rondo::tools::run
