#pragma once
/// Floors of bare sockets between two threads on two cores.

#include <functional>

#include "bench/floor.hpp"

namespace rondo::tools::bench {

/// Loopback TCP, then local sockets. Nothing where this process has one core only. Throws when a socket
/// fails.
void measure_sockets(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop);

}  // namespace rondo::tools::bench
