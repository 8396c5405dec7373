#include <exception>

#include "backend/backend.hpp"
#include "rondo/group.hpp"

namespace rondo {

Request::Request(std::unique_ptr<backend::Operation> operation, Duration timeout, Tensor keep_alive)
    : operation_(std::move(operation)), timeout_(timeout), keep_alive_(std::move(keep_alive)) {}

Request::Request(Request&&) noexcept = default;

Request& Request::operator=(Request&& other) noexcept {
  if (this == &other) return *this;
  drop();
  operation_ = std::move(other.operation_);
  timeout_ = other.timeout_;
  keep_alive_ = std::move(other.keep_alive_);
  return *this;
}

Request::~Request() { drop(); }

// Waits within the limit, then cancels; what went wrong is not told to anybody. While an exception unwinds
// the stack nobody wants the message any more, and waiting would only delay the news.
void Request::drop() noexcept {
  if (!operation_) return;
  try {
    if (std::uncaught_exceptions() == 0) operation_->wait(timeout_);
  } catch (const std::exception&) {  // told by nobody: destructors do not throw
  }
  operation_->cancel();
  operation_.reset();
}

bool Request::test() { return !operation_ || operation_->test(); }

void Request::wait() { wait(timeout_); }

void Request::wait(Duration timeout) {
  if (!operation_) return;
  const std::unique_ptr<backend::Operation> operation = std::move(operation_);
  operation->wait(timeout);
}

void Request::cancel() {
  if (!operation_) return;
  operation_->cancel();
  operation_.reset();
}

}  // namespace rondo
