#include "support/world.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "backend/jobs.hpp"
#include "net/address.hpp"
#include "rendezvous/star.hpp"
#include "transport/job.hpp"

namespace rondo::test {
namespace {

std::string words_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is no exception";
  }
}

constexpr unsigned limit_of_a_process = 100;  // seconds

Config settings(std::size_t arena_bytes, bool checked) {
  Config config;
  config.arena_bytes = arena_bytes;
  config.check_agreement = checked;
  config.check_payload = checked;
  config.timeout = std::chrono::seconds(30);
  config.log = false;
  return config;
}

// One handle per rank, all in this process.
std::vector<Group> groups_of(int size, const Config& config) {
  if (config.backend != Backend::tcp && config.backend != Backend::shm) return sim_group(size, config);
  std::vector<Group> groups;
  for (auto& each : backend::job_group(size, config)) groups.emplace_back(std::move(each));
  return groups;
}

std::vector<World> make_worlds() {
  using enum World::Ranks;
  constexpr std::size_t arena = 256 * 1024;
  constexpr std::size_t small = 1024;  // many rounds even for few elements
  std::vector<World> all;
  const auto add = [&all](const std::string& name, World::Ranks ranks, std::size_t arena_bytes, bool checked,
                          Backend backend = Backend::any) {
    all.push_back({name + (checked ? "_checked" : ""), ranks, settings(arena_bytes, checked)});
    all.back().config.backend = backend;
  };
  for (const bool checked : {false, true}) {
    add("run_arena", simulated, arena, checked);
    add("run_wires", simulated, 0, checked);
    add("group_arena", threads, arena, checked);
    add("group_wires", threads, 0, checked);
    add("group_tcp", threads, 0, checked, Backend::tcp);
    add("group_shm", threads, arena, checked, Backend::shm);
  }
  add("group_shm_rings", threads, 0, false, Backend::shm);
  add("processes_shm", processes, arena, false, Backend::shm);
  add("processes_tcp", processes, 0, false, Backend::tcp);
  add("run_small_arena", simulated, small, false);
  return all;
}

// A rank's process; never returns to the test.
void be_rank(int rank, int size, net::Listener& listener, const RankMain& rank_main, const Config& config) {
  alarm(limit_of_a_process);  // a hang ends this process, and the test says so
  try {
    control::Identity identity;
    identity.rank = rank;
    identity.size = size;
    const net::Address where = listener.bound();
    std::unique_ptr<rendezvous::Rendezvous> star;
    if (rank == 0) {
      std::vector<net::Listener> listeners;
      listeners.push_back(std::move(listener));
      star = rendezvous::serve_star(identity, std::move(listeners));
    } else {
      star = rendezvous::join_star(identity, {net::host_text(where), where.port()});
    }
    net::Address here = where;
    here.set_port(0);
    base::Deadline deadline(base::real_scheduler(), config.init_timeout);
    Group group(backend::join_job(transport::Job::join(identity, config, *star, here, deadline), deadline));
    star.reset();
    rank_main(std::move(group));
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << rank << " threw: " << error.what();
  }
  std::fflush(nullptr);
  // Not exit: the test's own ends are not this process's to meet.
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace

void run_threads(int size, const RankMain& rank_main, const Config& config) {
  std::mutex mutex;
  std::exception_ptr first;
  {
    std::vector<Group> groups = groups_of(size, config);
    std::vector<std::jthread> threads;
    for (Group& handle : groups) {
      threads.emplace_back([&, group = std::move(handle)]() mutable {
        const Group keep = group;  // so that a rank that throws can still end the group
        try {
          rank_main(std::move(group));
        } catch (...) {
          const std::exception_ptr thrown = std::current_exception();
          {
            const std::lock_guard lock(mutex);
            if (!first) first = thrown;
          }
          keep.abort("a rank of the test threw: " + words_of(thrown));
        }
      });
    }
    groups.clear();
  }
  if (first) std::rethrow_exception(first);
}

void run_processes(int size, const RankMain& rank_main, const Config& config) {
  net::Listener listener(net::resolve({"127.0.0.1", 0}).front());
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    const pid_t child = fork();
    if (child == 0) be_rank(rank, size, listener, rank_main, config);
    ASSERT_GT(child, 0);
    children.push_back(child);
  }
  for (std::size_t rank = 0; rank < children.size(); ++rank) {
    int status = 0;
    EXPECT_EQ(waitpid(children[rank], &status, 0), children[rank]);
    EXPECT_EQ(status, 0) << "rank " << rank << " ended with wait status " << status
                         << "; its words are above";
  }
}

void run_sim(int size, std::uint64_t seed, const RankMain& rank_main, const Config& config) {
  sim_run(size, seed, rank_main, config);
}

void World::run(int size, const RankMain& rank_main, std::uint64_t seed) const {
  const RankMain traced = [&](Group group) {
    SCOPED_TRACE(label("world", name, "size", size, "rank", group.rank(), "seed", seed));
    rank_main(std::move(group));
  };
  switch (ranks) {
    case Ranks::simulated:
      return run_sim(size, seed, traced, config);
    case Ranks::threads:
      return run_threads(size, traced, config);
    case Ranks::processes:
      return run_processes(size, traced, config);
  }
}

World World::with(const std::function<void(Config&)>& change) const {
  World changed = *this;
  change(changed.config);
  return changed;
}

const std::vector<World>& worlds() {
  static const std::vector<World> all = make_worlds();
  return all;
}

std::ostream& operator<<(std::ostream& out, const World& world) { return out << world.name; }

const std::vector<int>& sizes() {
  static const std::vector<int> chosen = [] {
    std::vector<int> all = {1, 2, 3, 4, 5, 8};
    if (const char* limit = std::getenv("RONDO_TEST_MAX_SIZE"); limit != nullptr) {
      const int most = std::max(1, std::atoi(limit));
      std::erase_if(all, [most](int size) { return size > most; });
    }
    return all;
  }();
  return chosen;
}

std::optional<Error> error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

void expect_is(const std::optional<Error>& error, ErrorKind kind,
               std::initializer_list<std::string_view> parts) {
  if (!error) {
    ADD_FAILURE() << "no error, where " << to_string(kind) << " is due";
    return;
  }
  const std::string text = error->what();
  EXPECT_EQ(error->kind(), kind) << text;
  for (const std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in \"" << text << "\"";
  }
}

void expect_error(ErrorKind kind, std::initializer_list<std::string_view> parts,
                  const std::function<void()>& call) {
  expect_is(error_of(call), kind, parts);
}

}  // namespace rondo::test
