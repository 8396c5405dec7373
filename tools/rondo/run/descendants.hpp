#pragma once
/// Processes that have lost their parents.

#include <sys/types.h>

#include <set>

namespace rondo::tools::run {

/// The children of this process, as /proc shows them; zombies too.
std::set<pid_t> children_of_this_process();

/// From now on processes below this one that lose their parent become its children.
void adopt_orphans();

/// Kills all children but those to keep, and whoever becomes a child by that, until there is none. Waits for
/// them.
void kill_descendants(const std::set<pid_t>& keep);

}  // namespace rondo::tools::run
