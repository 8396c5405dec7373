#pragma once
/// Frames over sockets: a pair of a group has a connection for collectives, made with the group, and one for
/// messages, made by the watcher when either has the first for the other.

#include <memory>
#include <vector>

#include "transport/job.hpp"
#include "transport/transport.hpp"

namespace rondo::transport::tcp {

/// Wires of a group of some of the job's ranks. `members`: ranks of the job in the group's order, this one
/// included. Throws Problem.
std::unique_ptr<Transport> connect(const std::shared_ptr<Job>& job, const GroupId& id,
                                   std::vector<int> members, base::Deadline& deadline,
                                   const control::Proceed& proceed = {});

}  // namespace rondo::transport::tcp
