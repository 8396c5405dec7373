#pragma once
/// Groups over a Transport: rondo's own algorithms and matching, whatever the wire.

#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "collective/tuning.hpp"
#include "rondo/config.hpp"
#include "transport/progress.hpp"
#include "transport/transport.hpp"

namespace rondo::backend {

/// What all groups of one rank that come from one init share.
struct Engine {
  Engine(base::Event& bell, int ranks_here, Config settings, std::shared_ptr<void> keep)
      : keep_alive(std::move(keep)),
        config(std::move(settings)),
        table(collective::table_with(config.tuning)),
        progress(bell, ranks_here) {}

  std::shared_ptr<void> keep_alive;  // what the bell and the wires live in; goes last
  Config config;
  std::vector<collective::Row> table;  // which algorithm runs
  transport::Progress progress;
};

/// A group over `transport`. `id` is its name in the world (empty for the group of all ranks).
std::shared_ptr<GroupBackend> make_mesh(std::shared_ptr<Engine> engine,
                                        std::unique_ptr<transport::Transport> transport,
                                        transport::GroupId id);

}  // namespace rondo::backend
