#pragma once
/// A ring that may hold MLX processes: MLX's own algorithms and rules, byte for byte, and what can be built
/// from them. What cannot is an error that says so and moves nothing.

#include <memory>

#include "backend/backend.hpp"
#include "rendezvous/hostfile.hpp"
#include "rondo/config.hpp"

namespace rondo::backend {

/// Joins the ring of `file` as `rank`. Throws base::Problem.
std::shared_ptr<GroupBackend> join_mlx_ring(const rendezvous::Hostfile& file, int rank, const Config& config,
                                            base::Deadline& deadline);

}  // namespace rondo::backend
