#include "support/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "backend/jobs.hpp"

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
  constexpr std::size_t arena = 256 * 1024;
  constexpr std::size_t small = 1024;  // many rounds even for few elements
  std::vector<World> all;
  for (const bool simulated : {true, false}) {
    const std::string base = simulated ? "run" : "group";
    all.push_back({base + "_arena", simulated, settings(arena, false)});
    all.push_back({base + "_wires", simulated, settings(0, false)});
    all.push_back({base + "_arena_checked", simulated, settings(arena, true)});
    all.push_back({base + "_wires_checked", simulated, settings(0, true)});
  }
  for (const bool checked : {false, true}) {
    World tcp{checked ? "group_tcp_checked" : "group_tcp", false, settings(0, checked)};
    tcp.config.backend = Backend::tcp;
    all.push_back(tcp);
    World shm{checked ? "group_shm_checked" : "group_shm", false, settings(arena, checked)};
    shm.config.backend = Backend::shm;
    all.push_back(shm);
  }
  World rings{"group_shm_rings", false, settings(0, false)};
  rings.config.backend = Backend::shm;
  all.push_back(rings);
  all.push_back({"run_small_arena", true, settings(small, false)});
  return all;
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

void run_sim(int size, std::uint64_t seed, const RankMain& rank_main, const Config& config) {
  sim_run(size, seed, rank_main, config);
}

void World::run(int size, const RankMain& rank_main, std::uint64_t seed) const {
  const RankMain traced = [&](Group group) {
    SCOPED_TRACE(label("world", name, "size", size, "rank", group.rank(), "seed", seed));
    rank_main(std::move(group));
  };
  if (simulated) {
    run_sim(size, seed, traced, config);
  } else {
    run_threads(size, traced, config);
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
