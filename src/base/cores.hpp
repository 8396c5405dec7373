#pragma once
/// The cores that this process may use.

namespace rondo::base {

/// At least 1: the affinity mask, cut by the cgroup's CPU quota. Read once.
int usable_cores() noexcept;

/// Moves the calling thread to the `index`-th core that it may use, modulo their number. A hint: it may be
/// moved on at once, and its affinity is what it was.
void visit_core(int index) noexcept;

}  // namespace rondo::base
