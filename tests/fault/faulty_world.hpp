#pragma once
/// A simulated world whose wires misbehave at chosen frames.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/sim_worlds.hpp"
#include "rondo/rondo.hpp"
#include "transport/fault/fault.hpp"

namespace rondo::test {

using transport::fault::Action;
using transport::fault::Plan;
using transport::fault::Rule;

/// Runs `rank_main` on every rank; the frames of `faulty_rank` follow `rules`. Exceptions must not leave
/// `rank_main`. Returns how many frames each rank posted.
inline std::vector<std::uint64_t> run_faulty(int size, std::uint64_t seed, int faulty_rank,
                                             std::vector<Rule> rules, const Config& config,
                                             const std::function<void(Group)>& rank_main) {
  std::vector<std::shared_ptr<Plan>> plans;
  for (int rank = 0; rank < size; ++rank) plans.push_back(std::make_shared<Plan>());
  if (faulty_rank >= 0) plans[static_cast<std::size_t>(faulty_rank)]->rules = std::move(rules);
  backend::run_world(
      size, seed, [&](std::shared_ptr<backend::GroupBackend> group) { rank_main(Group(std::move(group))); },
      config,
      [&](base::Scheduler& scheduler) -> backend::Wrap {
        return [&plans, &scheduler](std::unique_ptr<transport::Transport> wires, int rank) {
          return transport::fault::make_faulty(std::move(wires), plans[static_cast<std::size_t>(rank)],
                                               scheduler);
        };
      });
  std::vector<std::uint64_t> frames;
  for (const auto& plan : plans) frames.push_back(plan->frames);
  return frames;
}

}  // namespace rondo::test
