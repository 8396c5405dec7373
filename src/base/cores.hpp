#pragma once
/// The cores that this process may use.

#include <vector>

namespace rondo::base {

/// At least 1: the affinity mask, cut by the cgroup's CPU quota. Read once.
int usable_cores() noexcept;

/// The cores of the calling thread's affinity mask, by number; empty where the system has no such thing.
std::vector<int> allowed_cores();

/// Moves the calling thread to the `index`-th of allowed_cores(), modulo their number. A hint: it may be
/// moved on at once, and its affinity is what it was.
void visit_core(int index);

}  // namespace rondo::base
