#pragma once
/// Which backends there are, and the groups that were made with them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "rendezvous/callback.hpp"
#include "rondo/config.hpp"

namespace rondo::backend {

/// Why `backend` cannot be used here, whatever the peers; empty when it can.
std::string unavailable_reason(Backend backend);

/// Joins the job that the environment describes; cached. Not strict: a group of one with a reason instead of
/// an error.
std::shared_ptr<GroupBackend> init(bool strict, Backend backend);
/// The same from settings in hand: strict, not cached.
std::shared_ptr<GroupBackend> init(const Config& config);
/// The same over an exchange that the caller brings.
std::shared_ptr<GroupBackend> init(const Config& config, const rendezvous::Callback& exchange);

/// Ranks of one process, for threads of the caller's own.
std::vector<std::shared_ptr<GroupBackend>> sim_group(int size, const Config& config);

using RankMain = std::function<void(std::shared_ptr<GroupBackend>)>;
/// Ranks of one process under a seeded scheduler in virtual time.
void sim_run(int size, std::uint64_t seed, const RankMain& rank_main, const Config& config);

}  // namespace rondo::backend
