#pragma once
/// Errors, classed by what the caller can do about them.

#include <chrono>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "rondo/export.hpp"

namespace RONDO_EXPORT rondo {

/// Every time span of the interface is in nanoseconds; any std::chrono duration converts to it.
using Duration = std::chrono::nanoseconds;

/// What went wrong, by what the caller can do about it.
enum class ErrorKind {
  invalid_argument,  ///< the call itself is wrong; nothing moved; correct the arguments
  unsupported,       ///< the call is well-formed, but this type, reduction or backend does not define it
  unavailable,       ///< a backend or a job could not be set up; the text names what is missing
  disconnected,      ///< a rank or a wire is gone
  timed_out,         ///< a limit ran out
  mismatch,          ///< ranks disagree about what they do together; the text names both sides' values
  aborted,           ///< a rank ended the group on purpose
};

/// "invalid_argument", "timed_out", ...
std::string_view to_string(ErrorKind kind) noexcept;
std::ostream& operator<<(std::ostream& out, ErrorKind kind);

/// Where an error happened. Fields that do not apply hold their default.
struct ErrorContext {
  std::string operation;  ///< the verb: "all_sum", "recv_into", "init"
  int rank = -1;          ///< the rank that throws
  int peer = -1;          ///< the rank the error is about; the originator's rank when a group has failed
  Duration elapsed{};     ///< how long the call had run
};

/// The only exception that rondo throws (but std::bad_alloc).
/// what() reads like `all_sum #12 on rank 3 of 8 (sim): rank 2 left the group`.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text, ErrorContext context = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& operation() const noexcept { return context_->operation; }
  int rank() const noexcept { return context_->rank; }
  int peer() const noexcept { return context_->peer; }
  Duration elapsed() const noexcept { return context_->elapsed; }

 private:
  ErrorKind kind_;
  std::shared_ptr<const ErrorContext> context_;  // shared, so that copying the exception cannot throw
};

/// What ended a group: the first cause, as the rank that met it first told it. The same on every rank.
struct Failure {
  ErrorKind kind = ErrorKind::aborted;
  int rank = -1;     ///< the rank the failure began at, as numbered in the failed group
  std::string text;  ///< its words

  friend bool operator==(const Failure&, const Failure&) = default;
};

}  // namespace rondo
