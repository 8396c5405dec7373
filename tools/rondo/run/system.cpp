#include "run/system.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.hpp"
#include "base/problem.hpp"

namespace rondo::tools::run {

void throw_errno(const std::string& what) {
  throw base::Problem(ErrorKind::unavailable, -1, what + ": " + base::error_words(errno));
}

int checked(int result, const char* what) {
  if (result < 0) throw_errno(what);
  return result;
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  checked(::pipe2(ends.data(), O_CLOEXEC), "no pipe");
  return {base::Fd(ends[0]), base::Fd(ends[1])};
}

void make_nonblocking(int fd) {
  checked(::fcntl(fd, F_SETFL, checked(::fcntl(fd, F_GETFL), "a descriptor's flags") | O_NONBLOCK),
          "a descriptor's flags");
}

void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    // The lowest free number is taken, and those before it are open by now.
    if (::fcntl(fd, F_GETFD) < 0) checked(::open("/dev/null", O_RDWR), "/dev/null");
  }
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // the old one stays: whoever runs out is told
}

Wake::Wake() : fd_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "no eventfd")) {}

void Wake::ring() const noexcept {
  const std::uint64_t one = 1;
  (void)!::write(fd_.get(), &one, sizeof(one));
}

void Wake::silence() const noexcept {
  std::uint64_t count = 0;
  (void)!::read(fd_.get(), &count, sizeof(count));
}

}  // namespace rondo::tools::run
