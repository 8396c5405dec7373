#pragma once
/// Calls to the system that fail only when something is badly wrong, and then with words.

#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.hpp"

namespace rondo::tools::run {

/// Throws Problem(unavailable): "WHAT: " and the words of errno.
[[noreturn]] void throw_errno(const std::string& what);
/// The result of a call that gives -1 when it fails.
int checked(int result, const char* what);

struct Pipe {
  base::Fd read;
  base::Fd write;
};
/// Both ends close-on-exec and blocking.
Pipe make_pipe();
void make_nonblocking(int fd);

/// Standard descriptors that are closed become /dev/null, so that no other file ever gets their numbers.
void open_standard_descriptors();
/// As many descriptors as the system allows.
void raise_descriptor_limit();

/// What ends a poll() of another thread.
class Wake {
 public:
  Wake();
  int fd() const noexcept { return fd_.get(); }
  void ring() const noexcept;
  /// It can be heard no more until it is rung again.
  void silence() const noexcept;

 private:
  base::Fd fd_;
};

}  // namespace rondo::tools::run
