#include "base/fd.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

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

std::string error_words(int cause) {
  std::string text = std::generic_category().message(cause);
  rlimit limit{};
  if (cause == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
    text += fmt::format(" (the limit of this process is {})", limit.rlim_cur);
  return text;
}

}  // namespace rondo::base
