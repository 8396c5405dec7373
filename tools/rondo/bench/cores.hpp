#pragma once
/// Threads on cores of their own, for floors.

#include <functional>
#include <vector>

namespace rondo::tools::bench {

/// The cores that this process may run on, as many as its quota lets it use.
std::vector<int> cores_to_use();

/// Runs body(i) at once on threads that each stay on cores[i]; throws what the first of them threw.
void on_cores(const std::vector<int>& cores, const std::function<void(std::size_t)>& body);

}  // namespace rondo::tools::bench
