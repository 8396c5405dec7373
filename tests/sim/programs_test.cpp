// Random programs over many seeds, against the serial reference.

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "sim/program.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace rondo::test {
namespace {

Config config_of(std::uint64_t seed) {
  Config config;
  config.log = false;
  config.timeout = std::chrono::seconds(30);
  switch (seed % 5) {
    case 0:
      break;
    case 1:
      config.arena_bytes = 0;
      break;
    case 2:
      config.arena_bytes = 1024;
      break;
    case 3:
      config.eager_bytes = 16;
      config.credit_bytes = 256;
      config.arena_bytes = 0;
      break;
    default:
      config.check_agreement = config.check_payload = true;
      break;
  }
  return config;
}

int size_of_seed(std::uint64_t seed) { return 1 + static_cast<int>(mix(seed, 0, 0) % 6); }

void run_one(std::uint64_t seed, int steps, bool simulated) {
  const Program program = make_program(seed, steps);
  const int size = size_of_seed(seed);
  SCOPED_TRACE(label("program", seed, "size", size));
  const RankMain rank_main = [&](const Group& group) {
    SCOPED_TRACE(label("program", seed, "size", size));
    run_program(program, group, [](int, bool) {});
  };
  if (simulated) {
    run_sim(size, seed, rank_main, config_of(seed));
  } else {
    run_threads(size, rank_main, config_of(seed));
  }
  if (testing::Test::HasFailure()) std::cerr << to_string(program);
}

TEST(Programs, UnderManySchedules) {
  for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) run_one(seed, 12, true);
}

TEST(Programs, LongerOnes) {
  for (std::uint64_t seed = 1001; seed <= 1020 && !HasFailure(); ++seed) run_one(seed, 100, true);
}

TEST(Programs, OverThreads) {
  for (std::uint64_t seed = 2001; seed <= 2100 && !HasFailure(); ++seed) run_one(seed, 12, false);
}

/// Which rank began and ended which step, in the order in which it happened.
std::vector<std::string> trace_of(std::uint64_t program_seed, std::uint64_t schedule) {
  const Program program = make_program(program_seed, 15);
  std::mutex mutex;
  std::vector<std::string> trace;
  run_sim(
      4, schedule,
      [&](const Group& group) {
        run_program(program, group, [&](int step, bool ends) {
          const std::lock_guard lock(mutex);
          trace.push_back(label(group.rank(), step, ends));
        });
      },
      config_of(program_seed));
  return trace;
}

TEST(Programs, ASeedIsARunAgain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(trace_of(seed, seed), trace_of(seed, seed)) << "seed " << seed;
  }
}

TEST(Programs, SeedsMakeDifferentRuns) {
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t schedule = 1; schedule <= 20; ++schedule) seen.insert(trace_of(3, schedule));
  EXPECT_GT(seen.size(), 10U);
}

}  // namespace
}  // namespace rondo::test
