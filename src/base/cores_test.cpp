#include "base/cores.hpp"

#include <gtest/gtest.h>

#ifdef __linux__
#include <sched.h>
#endif

#include <thread>
#include <vector>

namespace {

using rondo::base::usable_cores;

TEST(Cores, at_least_one_and_no_more_than_the_machine_has) {
  EXPECT_GE(usable_cores(), 1);
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  if (all > 0) {
    EXPECT_LE(usable_cores(), all);
  }
  EXPECT_EQ(usable_cores(), usable_cores());
}

#ifdef __linux__
TEST(Cores, a_visit_moves_the_thread_and_leaves_its_affinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const std::vector<int> cores = rondo::base::allowed_cores();
  ASSERT_EQ(cores.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
  for (const int core : cores) EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(core), &before));
  for (std::size_t index = 0; index < 2 * cores.size(); ++index) {
    // The scheduler may move it on before one can look.
    bool seen = false;
    for (int attempt = 0; attempt < 1000 && !seen; ++attempt) {
      rondo::base::visit_core(static_cast<int>(index));
      seen = sched_getcpu() == cores[index % cores.size()];
    }
    EXPECT_TRUE(seen) << index;
  }
  rondo::base::visit_core(-1);
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}
#endif

}  // namespace
