#pragma once
/// Groups over a simulated world. Tests use it directly, to put something between the world and the groups.

#include <functional>
#include <memory>
#include <vector>

#include "backend/mesh/mesh.hpp"
#include "base/sim_scheduler.hpp"
#include "rondo/config.hpp"
#include "transport/sim/world.hpp"

namespace rondo::backend {

/// Between the wires of a rank and its group: the identity, or a decorator.
using Wrap =
    std::function<std::unique_ptr<transport::Transport>(std::unique_ptr<transport::Transport>, int rank)>;

/// The group of all ranks of `world`, as `rank` sees it.
std::shared_ptr<GroupBackend> join_world(const std::shared_ptr<transport::sim::World>& world, int rank,
                                         const Config& config, const Wrap& wrap = {});

/// Runs `rank_main` for every rank of a world of its own. Throws the first exception of a rank after all have
/// ended.
void run_world(int size, std::uint64_t seed,
               const std::function<void(std::shared_ptr<GroupBackend>)>& rank_main, const Config& config,
               const std::function<Wrap(base::Scheduler&)>& wrap = {});

}  // namespace rondo::backend
