#pragma once
/// Frames over sockets: two connections per pair of a group, one for each lane.

#include <memory>
#include <vector>

#include "transport/job.hpp"
#include "transport/transport.hpp"

namespace rondo::transport::tcp {

/// Wires of a group of some of the job's ranks. `members`: ranks of the job in the group's order, this one
/// included. Throws Problem.
std::unique_ptr<Transport> connect(const std::shared_ptr<Job>& job, const GroupId& id,
                                   std::vector<int> members);

}  // namespace rondo::transport::tcp
