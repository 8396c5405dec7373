#pragma once
/// A group of one without wires: what a program gets that was not started as a job.

#include <memory>

#include "backend/backend.hpp"

namespace rondo::backend {

/// `fallback_reason` says why it is one; empty when it was asked for.
std::shared_ptr<GroupBackend> make_solo(Backend kind, Duration timeout, std::string fallback_reason);

}  // namespace rondo::backend
