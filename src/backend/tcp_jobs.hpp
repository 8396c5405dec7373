#pragma once
/// Groups of processes over TCP.

#include <memory>

#include "backend/mesh/mesh.hpp"
#include "rondo/config.hpp"
#include "transport/tcp/node.hpp"

namespace rondo::backend {

/// The group of all ranks of a job that this process has joined. Throws base::Problem.
std::shared_ptr<GroupBackend> join_tcp(const std::shared_ptr<transport::tcp::Node>& node,
                                       const Config& config);

/// A whole job inside this process, for tests: every rank a node of its own, with sockets on the loopback
/// between them. Handle r is rank r.
std::vector<std::shared_ptr<GroupBackend>> tcp_group(int size, const Config& config);

}  // namespace rondo::backend
