#pragma once
/// What acceptance tests share.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "support/reference.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace rondo::test {

using namespace std::chrono_literals;

/// The function on every rank: over sim_run, threads of sim_group, shm and tcp, and processes over both.
inline void everywhere(int size, const RankMain& rank_main) {
  constexpr std::array names = {"run_arena", "group_wires",   "group_shm",
                                "group_tcp", "processes_shm", "processes_tcp"};
  for (const World& world : worlds()) {
    if (std::ranges::find(names, world.name) == names.end()) continue;
    SCOPED_TRACE(world.name);
    world.run(size, rank_main);
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

/// Knows nothing of what carries the group.
inline void user_code(const Group& group) {
  const Tensor sum = group.all_sum(Tensor::of<std::int32_t>({group.rank() + 1, 10}));
  const std::int32_t n = group.size();
  EXPECT_TRUE(same(sum, Tensor::of<std::int32_t>({n * (n + 1) / 2, 10 * n})));
  if (n == 1) return;
  const Tensor mine = Tensor::of<float>({static_cast<float>(group.rank())});
  Tensor theirs(DType::float32, {1});
  group.sendrecv(mine, (group.rank() + 1) % n, theirs.view(), (group.rank() + n - 1) % n);
  EXPECT_EQ(theirs.span<float>()[0], static_cast<float>((group.rank() + n - 1) % n));
}

inline std::int64_t milliseconds(Duration span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

}  // namespace rondo::test
