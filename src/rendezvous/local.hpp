#pragma once
/// Rendezvous of threads of one process.

#include <memory>
#include <vector>

#include "base/scheduler.hpp"
#include "rendezvous/rendezvous.hpp"

namespace rondo::rendezvous {

/// One end per rank, for a thread each. An end may outlive the others. The first failure is everybody's, for
/// good.
std::vector<std::unique_ptr<Rendezvous>> make_local(int size, base::Scheduler& scheduler);

}  // namespace rondo::rendezvous
