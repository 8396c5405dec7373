#include "backend/registry.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "backend/jobs.hpp"
#include "backend/mlx_ring/mlx_ring.hpp"
#include "backend/sim_worlds.hpp"
#include "backend/solo/solo.hpp"
#include "base/config_parse.hpp"
#include "base/log.hpp"
#include "base/problem.hpp"
#include "collective/tuning.hpp"
#include "control/secret.hpp"
#include "rendezvous/hostfile.hpp"

namespace rondo::backend {

namespace {

/// The groups that init has made: the only global state. The first real one also answers `any`.
class Table {
 public:
  std::mutex mutex;

  std::shared_ptr<GroupBackend> find(Backend backend) const {
    const auto at = groups_.find(backend);
    return at == groups_.end() ? nullptr : at->second;
  }
  void add(Backend backend, const std::shared_ptr<GroupBackend>& group) {
    groups_[backend] = group;
    groups_.emplace(Backend::any, group);
  }
  void remove(const GroupBackend* group) {
    std::erase_if(groups_, [&](const auto& each) { return each.second.get() == group; });
  }

 private:
  std::map<Backend, std::shared_ptr<GroupBackend>> groups_;
};

Table& table() {
  // Must outlive the groups of the table, whose watchers work to their end.
  base::real_scheduler();
  control::start_cryptography();
  static Table initialised;
  return initialised;
}

/// A real group, or the reason why there is none.
struct Attempt {
  std::shared_ptr<GroupBackend> group;
  std::string reason;
};

Attempt attempt_sim(const Config& config) {
  if (config.size.value_or(1) != 1 || config.rank.value_or(0) != 0) {
    return {
        nullptr,
        fmt::format("the ranks of sim live in one process (sim_group), but RONDO_SIZE={} and RONDO_RANK={}",
                    config.size.value_or(1), config.rank.value_or(0))};
  }
  return {sim_group(1, config).front(), {}};
}

// Throws base::Problem when the job cannot be joined.
Attempt attempt_job(Backend backend, Config config) {
  const std::string missing = base::incomplete_reason(config);
  if (!missing.empty()) return {nullptr, "no job is described: " + missing};
  config.backend = backend;
  (void)collective::table_with(config.tuning);  // what cannot be read is told before others wait
  base::Deadline deadline(base::real_scheduler(), config.init_timeout);
  return {join_job(transport::Job::join(config, deadline), deadline), {}};
}

// Throws base::Problem when the ring cannot be joined.
Attempt attempt_ring(const Config& config) {
  if (config.hostfile.empty() || !config.rank) {
    return {nullptr,
            fmt::format("no ring is described: {}{}{} not set", config.rank ? "" : "RONDO_RANK (or MLX_RANK)",
                        config.rank || !config.hostfile.empty() ? "" : " and ",
                        config.hostfile.empty() ? (config.rank ? "RONDO_HOSTFILE (or MLX_HOSTFILE) is"
                                                               : "RONDO_HOSTFILE (or MLX_HOSTFILE) are")
                                                : " is")};
  }
  if (config.ring_wire == RingWire::rondo) {
    return {nullptr,
            "RONDO_RING_WIRE=rondo: rondo's own frames do not go around rings in this version; "
            "RONDO_RING_WIRE=mlx speaks the wire of MLX"};
  }
  base::Deadline deadline(base::real_scheduler(), config.init_timeout);
  return {join_mlx_ring(rendezvous::read_hostfile(config.hostfile), *config.rank, config, deadline), {}};
}

Attempt attempt(Backend backend, const Config& config) {
  switch (backend) {
    case Backend::sim:
      return attempt_sim(config);
    case Backend::ring:
      return attempt_ring(config);
    case Backend::any:
      if (!base::incomplete_reason(config).empty() && config.rank && !config.hostfile.empty())
        return attempt_ring(config);
      return attempt_job(backend, config);
    case Backend::tcp:
    case Backend::shm:
      return attempt_job(backend, config);
    case Backend::mpi:
    case Backend::jaccl:
    case Backend::nccl:
      return {nullptr, unavailable_reason(backend)};
  }
  return {nullptr, "no such backend"};
}

// A job that was described, and could not be joined.
[[noreturn]] void not_established(Backend backend, const base::Problem& problem, const Config& config) {
  throw Error(problem.kind(),
              fmt::format("init: {} was not established: {}", to_string(backend), problem.what()),
              {"init", config.rank.value_or(-1), problem.peer(), {}});
}

Backend asked_of(Backend backend, const Config& config) {
  return backend == Backend::any ? config.backend : backend;
}

[[noreturn]] void unavailable(Backend backend, const std::string& reason) {
  throw Error(ErrorKind::unavailable,
              fmt::format("init: {} was not established: {}", to_string(backend), reason),
              {"init", -1, -1, {}});
}

// Whether a job can be met over an exchange with these settings.
void check_exchange(const Config& config, const rendezvous::Callback& exchange) {
  base::validate(config);
  const auto wrong = [&](const std::string& text) {
    throw Error(ErrorKind::invalid_argument, "init with an exchange: " + text,
                {"init", config.rank.value_or(-1), -1, {}});
  };
  if (!exchange) wrong("the exchange is empty, expected a function");
  if (!config.rank || !config.size) {
    wrong(fmt::format("expected Config::rank and Config::size, but {} not set", config.rank   ? "size is"
                                                                                : config.size ? "rank is"
                                                                                              : "both are"));
  }
  if (config.backend != Backend::any && config.backend != Backend::tcp && config.backend != Backend::shm)
    wrong(fmt::format("backend {}, expected any, tcp or shm", to_string(config.backend)));
}

}  // namespace

std::string unavailable_reason(Backend backend) {
  constexpr std::string_view absent = "this version of rondo has no {} backend yet (it would read {})";
  switch (backend) {
    case Backend::any:
    case Backend::sim:
    case Backend::tcp:
    case Backend::shm:
    case Backend::ring:
      return {};
    case Backend::mpi:
      return fmt::format(absent, "mpi", "MLX_MPI_LIBNAME and the variables of an MPI launcher");
    case Backend::jaccl:
      return fmt::format(absent, "jaccl", "MLX_RANK, MLX_IBV_DEVICES and MLX_JACCL_COORDINATOR");
    case Backend::nccl:
      return fmt::format(absent, "nccl", "NCCL_HOST_IP, NCCL_PORT, MLX_RANK and MLX_WORLD_SIZE");
  }
  return "no such backend";
}

std::shared_ptr<GroupBackend> init(bool strict, Backend backend) {
  Table& known = table();
  std::lock_guard lock(known.mutex);
  if (auto group = known.find(backend)) return group;
  Config config;
  Attempt made;
  try {
    config = Config::from_env();
    base::validate(config);
    const Backend asked = asked_of(backend, config);
    if (auto group = known.find(asked)) return group;
    made = attempt(asked, config);
    if (made.group) {
      known.add(asked, made.group);
      made.group->when_shut_down([group = made.group.get()] {
        Table& all = table();
        std::lock_guard shut(all.mutex);
        all.remove(group);
      });
      return made.group;
    }
    if (strict) unavailable(asked, made.reason);
  } catch (const Error& error) {
    if (strict) throw;
    made.reason = error.what();
  } catch (const base::Problem& problem) {
    if (strict) not_established(asked_of(backend, config), problem, config);
    made.reason = problem.what();
  }
  if (config.size.value_or(1) > 1) {
    base::Log(config.log)
        .warn(fmt::format("RONDO_SIZE={} promises a job, but this is a group of one: {}", *config.size,
                          made.reason));
  } else if (config.rank && !config.hostfile.empty()) {
    base::Log(config.log)
        .warn(fmt::format("the hostfile \"{}\" promises a ring, but this is a group of one: {}",
                          config.hostfile, made.reason));
  }
  return make_solo(backend, config.timeout, made.reason);
}

std::shared_ptr<GroupBackend> init(const Config& config) {
  base::validate(config);
  try {
    Attempt made = attempt(config.backend, config);
    if (!made.group) unavailable(config.backend, made.reason);
    return made.group;
  } catch (const base::Problem& problem) {
    not_established(config.backend, problem, config);
  }
}

std::shared_ptr<GroupBackend> init(const Config& config, const rendezvous::Callback& exchange) {
  check_exchange(config, exchange);
  (void)collective::table_with(config.tuning);
  try {
    base::Deadline deadline(base::real_scheduler(), config.init_timeout);
    return join_job(transport::Job::join(config, exchange, deadline), deadline);
  } catch (const base::Problem& problem) {
    not_established(config.backend, problem, config);
  }
}

std::vector<std::shared_ptr<GroupBackend>> sim_group(int size, const Config& config) {
  if (size < 1)
    throw Error(ErrorKind::invalid_argument, fmt::format("sim_group: size {}, expected at least 1", size));
  base::validate(config);
  transport::sim::WorldOptions options;
  options.size = size;
  options.arena_bytes = config.arena_bytes;
  auto world = std::make_shared<transport::sim::World>(base::real_scheduler(), options);
  std::vector<std::shared_ptr<GroupBackend>> groups;
  groups.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) groups.push_back(join_world(world, rank, config));
  return groups;
}

void sim_run(int size, std::uint64_t seed, const RankMain& rank_main, const Config& config) {
  if (size < 1)
    throw Error(ErrorKind::invalid_argument, fmt::format("sim_run: size {}, expected at least 1", size));
  base::validate(config);
  run_world(size, seed, rank_main, config);
}

}  // namespace rondo::backend
