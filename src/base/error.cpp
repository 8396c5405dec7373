#include "rondo/error.hpp"

#include <ostream>
#include <utility>

#include "base/check.hpp"

namespace rondo {

Error::Error(ErrorKind kind, const std::string& text, ErrorContext context)
    : std::runtime_error(text),
      kind_(kind),
      context_(std::make_shared<const ErrorContext>(std::move(context))) {}

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return "invalid_argument";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::disconnected:
      return "disconnected";
    case ErrorKind::timed_out:
      return "timed_out";
    case ErrorKind::mismatch:
      return "mismatch";
    case ErrorKind::aborted:
      return "aborted";
  }
  base::broken_invariant("an ErrorKind without a name", __FILE__, __LINE__);
}

std::ostream& operator<<(std::ostream& out, ErrorKind kind) { return out << to_string(kind); }

}  // namespace rondo
