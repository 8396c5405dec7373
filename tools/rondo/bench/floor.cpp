#include "bench/floor.hpp"

#include "bench/cores.hpp"
#include "bench/floor_memory.hpp"
#include "bench/floor_sockets.hpp"
#include "bench/floor_trips.hpp"

namespace rondo::tools::bench {

std::vector<std::size_t> FloorPlan::sizes_within(std::size_t most) const {
  std::vector<std::size_t> within = sizes;
  std::erase_if(within, [&](std::size_t bytes) { return bytes > most; });
  return within;
}

Floors measure_floors(const FloorPlan& plan, const std::function<bool()>& stop) {
  Floors floors;
  floors.cores = static_cast<int>(cores_to_use().size());
  measure_small_things(floors, plan, stop);
  if (!stop()) measure_memory(floors, plan, stop);
  if (plan.everything && !stop()) measure_pull(floors, plan, stop);
  if (!stop()) measure_sockets(floors, plan, stop);
  return floors;
}

}  // namespace rondo::tools::bench
