#pragma once
/// Frames over sockets: two connections per pair of a group, one for each lane.

#include <memory>
#include <vector>

#include "transport/framed.hpp"
#include "transport/tcp/node.hpp"

namespace rondo::transport::tcp {

/// `members`: ranks of the job in the group's order; `group`: the hash of the group's identity.
std::unique_ptr<Transport> make_tcp(std::shared_ptr<Node> node, std::uint64_t group, std::vector<int> members,
                                    FramedTransport::Streams streams);

}  // namespace rondo::transport::tcp
