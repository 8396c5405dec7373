#pragma once
/// Groups of processes: over shared memory where all ranks are on one host, else over TCP.

#include <memory>
#include <vector>

#include "backend/mesh/mesh.hpp"
#include "rondo/config.hpp"
#include "transport/job.hpp"

namespace rondo::backend {

/// The group of all ranks of a job that this process has joined. `config.backend`: shm, tcp, or any, which is
/// shm where all ranks can share memory (the same answer on all of them). Throws base::Problem.
std::shared_ptr<GroupBackend> join_job(std::shared_ptr<transport::Job> job, base::Deadline& deadline);

/// A whole job inside this process, for tests: every rank with a place of its own in the job. Handle r is
/// rank r.
std::vector<std::shared_ptr<GroupBackend>> job_group(int size, const Config& config);

}  // namespace rondo::backend
