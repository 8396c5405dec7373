#include "transport/sim/world.hpp"

#include <algorithm>
#include <numeric>

#include "base/check.hpp"
#include "transport/sim/hub.hpp"

namespace rondo::transport::sim {

namespace {

/// The hub's arena as one rank sees it.
class ArenaSeat final : public Arena {
 public:
  ArenaSeat(ArenaMemory& memory, std::vector<base::Event*> others, int rank)
      : Arena(memory.published(), memory.slots(), memory.slot_bytes(), rank), others_(std::move(others)) {}

 private:
  void wake_others() override {
    for (base::Event* each : others_) each->nudge();
  }

  std::vector<base::Event*> others_;
};

FramedTransport::Streams streams_of(Hub& hub, int rank) {
  FramedTransport::Streams streams(static_cast<std::size_t>(hub.size()));
  for (int peer = 0; peer < hub.size(); ++peer) {
    if (peer == rank) continue;
    for (int lane = 0; lane < lane_count; ++lane) {
      streams[static_cast<std::size_t>(peer)][static_cast<std::size_t>(lane)] =
          std::make_unique<PipeStream>(hub.pipe(peer, rank, lane), hub.pipe(rank, peer, lane));
    }
  }
  return streams;
}

}  // namespace

class SimTransport final : public FramedTransport {
 public:
  SimTransport(std::shared_ptr<World> world, std::shared_ptr<Hub> hub, int rank)
      : FramedTransport(rank, streams_of(*hub, rank)), world_(std::move(world)), hub_(std::move(hub)) {
    if (ArenaMemory* shared = hub_->arena(); shared != nullptr) {
      std::vector<base::Event*> others = hub_->bells();
      others.erase(others.begin() + rank);
      arena_.emplace(*shared, std::move(others), rank);
    }
  }
  ~SimTransport() override { close(); }

  Backend kind() const noexcept override { return Backend::sim; }
  void fail(const Failure& cause) override { hub_->fail(cause); }
  bool failed() const noexcept override { return hub_->failed(); }
  std::optional<Failure> failure() const override { return hub_->failure(); }
  Arena* arena() noexcept override { return arena_ ? &*arena_ : nullptr; }

  std::unique_ptr<Transport> sub(const GroupId& id, std::span<const int> members) override {
    std::vector<int> ranks;
    for (const int member : members) {
      ranks.push_back(hub_->members()[static_cast<std::size_t>(member)]);
    }
    const int self = hub_->members()[static_cast<std::size_t>(rank())];
    const auto seat = std::find(ranks.begin(), ranks.end(), self) - ranks.begin();
    return std::make_unique<SimTransport>(world_, world_->join(id, ranks), static_cast<int>(seat));
  }

 private:
  std::shared_ptr<World> world_;  // before hub_: bells and pipes refer to it
  std::shared_ptr<Hub> hub_;
  std::optional<ArenaSeat> arena_;
};

World::World(base::Scheduler& scheduler, WorldOptions options) : scheduler_(scheduler), options_(options) {
  for (int rank = 0; rank < options_.size; ++rank) {
    bells_.push_back(std::make_unique<base::Event>(scheduler_));
  }
}

World::~World() = default;

std::unique_ptr<Transport> World::transport(int rank) {
  std::vector<int> everybody(static_cast<std::size_t>(options_.size));
  std::iota(everybody.begin(), everybody.end(), 0);
  return std::make_unique<SimTransport>(shared_from_this(), join({}, everybody), rank);
}

std::shared_ptr<Hub> World::join(const GroupId& id, const std::vector<int>& members) {
  std::lock_guard lock(mutex_);
  std::erase_if(hubs_, [](const auto& each) { return !each.second.keep && each.second.hub.expired(); });
  Entry& entry = hubs_[id];
  if (!entry.keep) {
    RONDO_INVARIANT(entry.joined == 0);  // ids are never used twice
    std::vector<base::Event*> bells;
    for (const int member : members) bells.push_back(&bell(member));
    entry.keep = std::make_shared<Hub>(members, std::move(bells), options_.pipe_bytes, options_.arena_bytes);
    entry.hub = entry.keep;
  }
  std::shared_ptr<Hub> hub = entry.keep;
  RONDO_INVARIANT(hub->members() == members);
  if (++entry.joined == static_cast<int>(members.size())) entry.keep.reset();
  return hub;
}

void World::kill(int rank, const std::string& text) {
  std::vector<std::pair<std::shared_ptr<Hub>, int>> groups;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, entry] : hubs_) {
      const std::shared_ptr<Hub> hub = entry.hub.lock();
      if (!hub) continue;
      const auto& members = hub->members();
      const auto at = std::find(members.begin(), members.end(), rank);
      if (at != members.end()) groups.emplace_back(hub, static_cast<int>(at - members.begin()));
    }
  }
  for (auto& [hub, member] : groups) hub->fail(Failure{ErrorKind::disconnected, member, text});
}

}  // namespace rondo::transport::sim
