#include "backend/jobs.hpp"

#include <fmt/format.h>

#include <exception>
#include <mutex>

#include "base/cores.hpp"
#include "base/log.hpp"
#include "base/problem.hpp"
#include "net/address.hpp"
#include "rendezvous/local.hpp"
#include "transport/shm/shm.hpp"
#include "transport/tcp/tcp.hpp"

namespace rondo::backend {

using transport::Job;

namespace {

std::shared_ptr<GroupBackend> over_tcp(const std::shared_ptr<Job>& job, base::Deadline& deadline) {
  auto wires = transport::tcp::connect(job, {}, job->everybody(), deadline);
  auto engine = std::make_shared<Engine>(job->bell(), job->ranks_here(), job->config(), job);
  return make_mesh(std::move(engine), std::move(wires), {});
}

std::shared_ptr<GroupBackend> over_shm(const std::shared_ptr<Job>& job, base::Deadline& deadline) {
  const auto host = transport::shm::Host::open(job, deadline);
  auto wires = transport::shm::connect(host, {}, job->everybody(), deadline);
  auto engine = std::make_shared<Engine>(host->bell(), job->size(), job->config(), host);
  return make_mesh(std::move(engine), std::move(wires), {});
}

std::shared_ptr<GroupBackend> join(const std::shared_ptr<Job>& job, base::Deadline& deadline) {
  const Config& config = job->config();
  if (config.backend == Backend::tcp) return over_tcp(job, deadline);
  if (config.backend == Backend::shm) return over_shm(job, deadline);
  if (!job->apart().empty()) return over_tcp(job, deadline);
  try {
    return over_shm(job, deadline);
  } catch (const base::Problem& problem) {
    if (problem.kind() != ErrorKind::unavailable) throw;
    // Told to all ranks alike.
    base::Log(config.log).warn(fmt::format("no shared memory, tcp instead: {}", problem.what()));
    return over_tcp(job, deadline);
  }
}

// Set-up wakes ranks one by one, and the scheduler likes to keep who is woken on the waker's core. Ranks that
// have a core each begin on one each.
void spread(const Identity& identity) {
  if (identity.local_size <= base::usable_cores()) base::visit_core(identity.local_rank);
}

}  // namespace

std::shared_ptr<GroupBackend> join_job(std::shared_ptr<Job> job, base::Deadline& deadline) {
  auto group = join(job, deadline);
  spread(group->identity());
  return group;
}

std::vector<std::shared_ptr<GroupBackend>> job_group(int size, const Config& config) {
  const net::Address loopback = net::resolve({"127.0.0.1", 0}).front();
  const auto ends = rendezvous::make_local(size, base::real_scheduler());
  std::vector<std::shared_ptr<GroupBackend>> groups(static_cast<std::size_t>(size));
  std::exception_ptr first;
  std::mutex mutex;
  std::vector<base::Thread> joining;
  for (int rank = 0; rank < size; ++rank) {
    joining.push_back(base::real_scheduler().spawn([&, rank] {
      try {
        control::Identity identity;
        identity.rank = rank;
        identity.size = size;
        const auto at = static_cast<std::size_t>(rank);
        base::Deadline deadline(base::real_scheduler(), config.init_timeout);
        groups[at] = join_job(Job::join(identity, config, *ends[at], loopback, deadline), deadline);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    }));
  }
  for (base::Thread& each : joining) each.join();
  if (first) std::rethrow_exception(first);
  return groups;
}

}  // namespace rondo::backend
