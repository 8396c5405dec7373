#pragma once
/// Invariants of rondo itself. A broken one is a bug here, not an error of the caller: it ends the process
/// with a message.

namespace rondo::base {

[[noreturn]] void broken_invariant(const char* expression, const char* file, int line);

}  // namespace rondo::base

#define RONDO_INVARIANT(condition) \
  ((condition) ? static_cast<void>(0) : ::rondo::base::broken_invariant(#condition, __FILE__, __LINE__))
