#pragma once
/// How many cores this process may use.

namespace rondo::base {

/// At least 1: the affinity mask, cut by the cgroup's CPU quota. Read once.
int usable_cores() noexcept;

}  // namespace rondo::base
