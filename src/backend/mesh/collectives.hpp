#pragma once
/// From a call to an algorithm: its stamp, the facts that select, the bytes.

#include <span>

#include "backend/backend.hpp"
#include "collective/select.hpp"
#include "transport/collective_lane.hpp"

namespace rondo::backend {

/// Runs `task` over `lane` by the algorithm that `table` selects, after comparing stamps where `agree`.
void run_collective(const Task& task, Seat seat, transport::CollectiveLane& lane,
                    std::span<const collective::Row> table, bool agree);

}  // namespace rondo::backend
