// Partition, ring, trees and hypercube.

#include <gtest/gtest.h>

#include <set>

#include "collective/partition.hpp"
#include "collective/ring.hpp"
#include "collective/tree.hpp"

namespace rondo::collective {
namespace {

static_assert(part_of(10, 4, 0) == Range{0, 3});
static_assert(part_of(10, 4, 1) == Range{3, 3});
static_assert(part_of(10, 4, 2) == Range{6, 2});
static_assert(part_of(10, 4, 3) == Range{8, 2});
static_assert(part_of(1, 5, 4) == Range{1, 0});
static_assert(part_of((std::size_t{1} << 40) + 1, 2, 1) ==
              Range{(std::size_t{1} << 39) + 1, std::size_t{1} << 39});
static_assert(chunk_count(0, 8) == 1 && chunk_count(8, 8) == 1 && chunk_count(9, 8) == 2);
static_assert(chunk_of({100, 20}, 8, 0) == Range{100, 8});
static_assert(chunk_of({100, 20}, 8, 2) == Range{116, 4});
static_assert(chunk_of({100, 20}, 8, 3) == Range{120, 0});
static_assert(chunk_elements(256 << 10, 16) == 16384 && chunk_elements(1000, 4) == 192);
static_assert(chunk_elements(40, 8) == 5 && chunk_elements(4, 8) == 1);

static_assert(ring::next(3, 4) == 0 && ring::previous(0, 4) == 3);
static_assert(ring::reduce_sends(0, 0, 4) == 3 && ring::reduce_receives(0, 0, 4) == 2);
static_assert(ring::reduce_receives(2, 2, 4) == 2);
static_assert(ring::gather_sends(1, 0, 4) == 1 && ring::gather_receives(1, 0, 4) == 0);

static_assert(tree::parent(0, 0, 8) == -1 && tree::parent(6, 0, 8) == 4 && tree::parent(7, 0, 8) == 6);
static_assert(tree::parent(1, 3, 4) == 3 && tree::children(3, 3, 4) == 2 && tree::child(3, 3, 4, 1) == 1);
static_assert(tree::ceil_log2(2) == 1 && tree::ceil_log2(5) == 3 && tree::ceil_log2(8) == 3);
static_assert(doubling::core(5) == 4 && doubling::core(8) == 8 && doubling::folded(5) == 1);
static_assert(doubling::aside(1, 5) && !doubling::aside(0, 5) && !doubling::aside(3, 5));
static_assert(doubling::partner(0, 0, 5) == 2 && doubling::partner(0, 1, 5) == 3);

TEST(Partition, PartsCoverTheWholeInOrder) {
  for (const std::size_t count : {0UL, 1UL, 6UL, 7UL, 8UL, 101UL}) {
    for (int parts = 1; parts <= 9; ++parts) {
      std::size_t end = 0;
      for (int i = 0; i < parts; ++i) {
        const Range part = part_of(count, parts, i);
        EXPECT_EQ(part.begin, end);
        EXPECT_LE(part.size, count / static_cast<std::size_t>(parts) + 1);
        EXPECT_GE(part.size, count / static_cast<std::size_t>(parts));
        end = part.end();
      }
      EXPECT_EQ(end, count);
    }
  }
}

TEST(Partition, SlabsCoverEverySegment) {
  const std::vector<std::size_t> sizes{5, 0, 17, 8};
  const Segments segments(sizes);
  EXPECT_EQ(segments.longest(), 17U);
  EXPECT_EQ(segments[3], (Range{22, 8}));
  for (int r = 0; r < segments.size(); ++r) {
    std::size_t end = segments[r].begin;
    for (std::size_t k = 0; k < chunk_count(segments.longest(), 4); ++k) {
      const Range part = segments.slab(4, k)[r];
      EXPECT_EQ(part.begin, end);
      end = part.end();
    }
    EXPECT_EQ(end, segments[r].end());
  }
}

TEST(Ring, PhasesVisitEverySegmentOnce) {
  for (int n = 2; n <= 9; ++n) {
    for (int rank = 0; rank < n; ++rank) {
      std::set<int> reduced;
      std::set<int> gathered{rank};
      for (int step = 0; step < ring::steps(n); ++step) {
        const int next = ring::next(rank, n);
        EXPECT_EQ(ring::reduce_sends(rank, step, n), ring::reduce_receives(next, step, n));
        EXPECT_EQ(ring::gather_sends(rank, step, n), ring::gather_receives(next, step, n));
        if (step > 0) {
          EXPECT_EQ(ring::reduce_sends(rank, step, n), ring::reduce_receives(rank, step - 1, n));
          EXPECT_EQ(ring::gather_sends(rank, step, n), ring::gather_receives(rank, step - 1, n));
        }
        EXPECT_TRUE(reduced.insert(ring::reduce_receives(rank, step, n)).second);
        EXPECT_TRUE(gathered.insert(ring::gather_receives(rank, step, n)).second);
      }
      EXPECT_EQ(ring::reduce_sends(rank, 0, n), ring::previous(rank, n));
      EXPECT_EQ(ring::reduce_receives(rank, ring::steps(n) - 1, n), rank);
      EXPECT_EQ(ring::gather_sends(rank, 0, n), rank);
      EXPECT_EQ(gathered.size(), static_cast<std::size_t>(n));
    }
  }
}

// Ranks of the subtree of v, counted from the root, in the order in which reduce_binomial combines them.
void walk(int rank, int root, int n, std::vector<int>& order) {
  order.push_back(tree::from_root(rank, root, n));
  for (int i = 0; i < tree::children(rank, root, n); ++i) {
    const int child = tree::child(rank, root, n, i);
    EXPECT_EQ(tree::parent(child, root, n), rank);
    walk(child, root, n, order);
  }
}

TEST(Tree, SubtreesHoldConsecutiveRanks) {
  for (int n = 2; n <= 17; ++n) {
    for (int root = 0; root < n; ++root) {
      std::vector<int> order;
      walk(root, root, n, order);
      ASSERT_EQ(order.size(), static_cast<std::size_t>(n));
      for (int v = 0; v < n; ++v) EXPECT_EQ(order[static_cast<std::size_t>(v)], v);
    }
  }
}

TEST(Doubling, EveryRoundDoublesWhatAPlaceHolds) {
  for (int n = 2; n <= 17; ++n) {
    std::vector<std::set<int>> held(static_cast<std::size_t>(n));
    const auto of = [&](int rank) -> std::set<int>& { return held[static_cast<std::size_t>(rank)]; };
    for (int r = 0; r < n; ++r) of(r).insert(r);
    for (int r = 0; r < n; ++r) {
      if (!doubling::aside(r, n)) continue;
      const int pair = doubling::pair(r, n);
      EXPECT_EQ(doubling::pair(pair, n), r);
      of(pair).insert(r);
    }
    for (int round = 0; round < tree::ceil_log2(doubling::core(n)); ++round) {
      const std::vector<std::set<int>> prior = held;
      for (int r = 0; r < n; ++r) {
        if (doubling::aside(r, n)) continue;
        const int partner = doubling::partner(r, round, n);
        ASSERT_EQ(doubling::partner(partner, round, n), r);
        ASSERT_FALSE(doubling::aside(partner, n));
        const std::set<int>& theirs = prior[static_cast<std::size_t>(partner)];
        // Consecutive, and on one side of all that this rank holds.
        EXPECT_EQ(r < partner, *of(r).rbegin() < *theirs.begin());
        of(r).insert(theirs.begin(), theirs.end());
        EXPECT_EQ(static_cast<int>(of(r).size()), *of(r).rbegin() - *of(r).begin() + 1);
      }
    }
    for (int r = 0; r < n; ++r) {
      if (!doubling::aside(r, n)) {
        EXPECT_EQ(of(r).size(), static_cast<std::size_t>(n));
      }
    }
  }
}

}  // namespace
}  // namespace rondo::collective
