#include "bench/tune.hpp"

#include <gtest/gtest.h>

namespace rondo::tools::bench {
namespace {

// Sizes 16, 256, 4096, 65536 with these times of the shipped choice and of two candidates.
std::vector<TuneSize> sizes_of(const std::vector<std::vector<double>>& times) {
  std::vector<TuneSize> sizes;
  std::size_t bytes = 16;
  for (const auto& each : times) {
    sizes.push_back({bytes, each[0], {each.begin() + 1, each.end()}});
    bytes *= 16;
  }
  return sizes;
}

TEST(BenchTune, NothingIsChangedWithoutNeed) {
  EXPECT_TRUE(better_choices(sizes_of({{1, 0.95, 1}, {1, 1.2, 0.94}, {2, 2, 2}}), 0.93).empty());
  EXPECT_TRUE(better_choices({}, 0.93).empty());
}

TEST(BenchTune, BordersLieBetweenSizes) {
  const auto ranges = better_choices(sizes_of({{1, 1, 1}, {1, 0.5, 1}, {1, 0.6, 0.9}, {1, 1, 1}}), 0.93);
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].algorithm, 0U);
  EXPECT_EQ(ranges[0].from, 65U);  // above the square root of 16 x 256
  EXPECT_EQ(ranges[0].up_to, 16384U);
}

TEST(BenchTune, TheFirstSizeReachesDownAndTheLastUp) {
  const auto ranges = better_choices(sizes_of({{1, 1, 0.2}, {1, 0.5, 1}, {1, 1, 1}, {1, 1, 0.9}}), 0.93);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].from, 0U);
  EXPECT_EQ(ranges[0].up_to, 64U);
  EXPECT_EQ(ranges[0].algorithm, 1U);
  EXPECT_EQ(ranges[1].from, 65U);
  EXPECT_EQ(ranges[1].up_to, 1024U);
  EXPECT_EQ(ranges[1].algorithm, 0U);
  EXPECT_EQ(ranges[2].from, 16385U);
  EXPECT_FALSE(ranges[2].up_to);
}

}  // namespace
}  // namespace rondo::tools::bench
