#include "backend/sim_worlds.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <mutex>

namespace rondo::backend {

using transport::sim::World;
using transport::sim::WorldOptions;

std::shared_ptr<GroupBackend> join_world(const std::shared_ptr<World>& world, int rank, const Config& config,
                                         const Wrap& wrap) {
  auto wires = world->transport(rank);
  if (wrap) wires = wrap(std::move(wires), rank);
  auto engine = std::make_shared<Engine>(world->bell(rank), world->size(), config, world);
  return make_mesh(std::move(engine), std::move(wires), {});
}

namespace {

// The first exception of any rank, in order of happening.
class FirstException {
 public:
  void note(std::exception_ptr exception) {
    std::lock_guard lock(mutex_);
    if (!first_) first_ = std::move(exception);
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

std::string words_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& each) {
    return each.what();
  } catch (...) {
    return "not a std::exception";
  }
}

}  // namespace

void run_world(int size, std::uint64_t seed,
               const std::function<void(std::shared_ptr<GroupBackend>)>& rank_main, const Config& config,
               const std::function<Wrap(base::Scheduler&)>& wrap) {
  base::SimScheduler scheduler(seed);
  // Small and odd pipes make frames arrive in pieces; which, the seed says.
  constexpr std::array<std::size_t, 4> capacities{257, 1021, 4099, 65536};
  WorldOptions options;
  options.size = size;
  options.pipe_bytes = capacities[scheduler.draw(capacities.size())];
  options.arena_bytes = config.arena_bytes;
  auto world = std::make_shared<World>(scheduler, options);
  const Wrap wrapped = wrap ? wrap(scheduler) : Wrap{};

  std::vector<std::shared_ptr<GroupBackend>> groups;
  for (int rank = 0; rank < size; ++rank) groups.push_back(join_world(world, rank, config, wrapped));
  FirstException first;
  std::vector<std::function<void()>> mains;
  for (int rank = 0; rank < size; ++rank) {
    mains.emplace_back([&, rank] {
      auto& group = groups[static_cast<std::size_t>(rank)];
      try {
        rank_main(group);
      } catch (...) {
        const std::exception_ptr exception = std::current_exception();
        first.note(exception);
        world->kill(rank, fmt::format("rank {} ended with an exception: {}", rank, words_of(exception)));
      }
      group.reset();  // the goodbye, in virtual time
    });
  }
  scheduler.run(std::move(mains));
  first.rethrow();
}

}  // namespace rondo::backend
