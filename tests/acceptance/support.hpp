#pragma once
/// What acceptance tests share.

#include <gtest/gtest.h>

#include <chrono>

#include "support/reference.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace rondo::test {

using namespace std::chrono_literals;

/// The function on every rank, once over sim_run and once over threads of sim_group.
inline void in_both(int size, const RankMain& rank_main) {
  for (const World& world : worlds()) {
    if (world.name == "run_arena" || world.name == "group_wires") world.run(size, rank_main);
  }
}

/// Over sim_run alone, for what needs virtual time.
inline void in_sim(int size, const RankMain& rank_main, const Config& config = {}) {
  run_sim(size, 1, rank_main, config);
}

/// A group of one that was asked for.
inline Group one() { return sim_group(1).front(); }

/// Lets `span` pass on a rank's clock (virtual under sim_run): waits for a message that nobody sends.
inline void let_pass(const Group& group, Duration span) {
  const int peer = group.rank() == 0 ? 1 : 0;
  EXPECT_TRUE(error_of([&] { (void)group.probe(peer, {.tag = 987'654, .timeout = span}); }).has_value());
}

inline std::int64_t milliseconds(Duration span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

}  // namespace rondo::test
