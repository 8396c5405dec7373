#pragma once
/// Rendezvous in a directory that all ranks share.

#include <filesystem>
#include <memory>

#include "base/scheduler.hpp"
#include "control/handshake.hpp"
#include "rendezvous/rendezvous.hpp"

namespace rondo::rendezvous {

/// Every rank writes one file per exchange, with its blob and the numbers of those whose files it has seen,
/// and reads the others' until all of them have seen it: so files that a dead job has left behind are taken
/// for nobody's. Files are named after the job, appear whole (renamed into place), are signed with the
/// secret, and go when all ranks have read them. Polls with growing pauses. A rank of another size or secret,
/// or that never came, is named at the limit; a second rank of one number at once.
std::unique_ptr<Rendezvous> join_files(const control::Identity& who, std::filesystem::path directory,
                                       base::Scheduler& scheduler);

}  // namespace rondo::rendezvous
