#pragma once
/// Floors of telling somebody something.

#include <functional>

#include "bench/floor.hpp"

namespace rondo::tools::bench {

/// Trips between cores, wake-ups, the clock, a system call.
void measure_small_things(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop);

}  // namespace rondo::tools::bench
