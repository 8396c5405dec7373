#pragma once
/// From a call to an algorithm: its stamp, the facts that select, the bytes.

#include "backend/backend.hpp"
#include "transport/collective_lane.hpp"

namespace rondo::backend {

/// Runs `task` over `lane`, with flat algorithms where `use_arena`, after comparing stamps where `agree`.
void run_collective(const Task& task, Seat seat, transport::CollectiveLane& lane, bool use_arena, bool agree);

}  // namespace rondo::backend
