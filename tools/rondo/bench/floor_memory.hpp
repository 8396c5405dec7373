#pragma once
/// Floors of moving and adding what lies in memory.

#include <functional>

#include "bench/floor.hpp"

namespace rondo::tools::bench {

/// memcpy and addition on one core and on all.
void measure_memory(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop);
/// process_vm_readv, of this process's own memory: what it costs where it is allowed.
void measure_pull(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop);

}  // namespace rondo::tools::bench
