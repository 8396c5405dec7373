#include "base/cores.hpp"

#include <gtest/gtest.h>

#include <thread>

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

}  // namespace
