#pragma once
/// A file descriptor that closes itself.

#include <string>
#include <utility>

namespace rondo::base {

/// Owns a descriptor (-1: none). Always close-on-exec: whoever makes one asks for that.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// errno's words; when descriptors have run out, the limit too.
std::string error_words(int cause);

}  // namespace rondo::base
