#include "base/fd.hpp"

#include <unistd.h>

namespace rondo::base {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this == &other) return *this;
  reset();
  fd_ = other.release();
  return *this;
}

void Fd::reset() noexcept {
  // Not repeated when interrupted: Linux has given the number back by then, and another thread may have it.
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace rondo::base
