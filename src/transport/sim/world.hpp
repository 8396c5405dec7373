#pragma once
/// A world of ranks inside one process: pipes between them, an arena on the heap, and the part that a watcher
/// plays between processes (it spreads the first cause of a failure).

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/scheduler.hpp"
#include "transport/framed.hpp"

namespace rondo::transport::sim {

class Hub;

struct WorldOptions {
  int size = 1;
  std::size_t pipe_bytes = 64 * 1024;    ///< capacity of each direction of each lane
  std::size_t arena_bytes = 256 * 1024;  ///< slot of each rank in the arena of each group; 0: no arena
};

/// Outlives its groups: every transport holds it.
class World : public std::enable_shared_from_this<World> {
 public:
  World(base::Scheduler& scheduler, WorldOptions options);
  ~World();

  int size() const noexcept { return options_.size; }
  base::Scheduler& scheduler() const noexcept { return scheduler_; }
  /// Rung whenever something may have moved for `rank`.
  base::Event& bell(int rank) noexcept { return *bells_[static_cast<std::size_t>(rank)]; }

  /// The group of all ranks, as seen by `rank`.
  std::unique_ptr<Transport> transport(int rank);
  /// The rank is gone: every group it is in fails with `text`, unless it has failed already.
  void kill(int rank, const std::string& text);

 private:
  friend class SimTransport;
  /// The hub of a group, made by the first member that asks, kept until all have.
  std::shared_ptr<Hub> join(const GroupId& id, const std::vector<int>& members);

  base::Scheduler& scheduler_;
  WorldOptions options_;
  std::vector<std::unique_ptr<base::Event>> bells_;
  std::mutex mutex_;
  struct Entry {
    std::weak_ptr<Hub> hub;
    std::shared_ptr<Hub> keep;
    int joined = 0;
  };
  std::map<GroupId, Entry> hubs_;
};

}  // namespace rondo::transport::sim
