// all_reduce, reduce_scatter and reduce over a strict channel: values, operand order, memory.

#include <gtest/gtest.h>

#include <algorithm>

#include "collective/algorithms.hpp"
#include "collective/partition.hpp"
#include "collective/test_support.hpp"

namespace rondo::collective::fake {
namespace {

enum class Order { ranks, ring, from_root };

/// Counts operands in one call of an algorithm: "combined once" means that no kernel call had fewer than all.
void expect_once(bool once, const FakeChannel& channel, std::size_t count, const std::string& where) {
  if (once && count > 0 && fewest_operands != static_cast<std::size_t>(-1)) {
    EXPECT_EQ(fewest_operands, static_cast<std::size_t>(channel.size())) << where;
  }
}

/// A call begins: a half of the slots, a fresh count of operands.
void begin(FakeChannel& channel) {
  channel.next_call();
  fewest_operands = static_cast<std::size_t>(-1);
}

struct AllReducer {
  const char* name;
  Order order;
  bool once;
  bool flat;
  std::function<void(Channel&, ConstBytes, Bytes, const Reduction&, std::size_t chunk)> run;
};

const AllReducer all_reducers[] = {
    {"ring", Order::ring, false, false,
     [](auto& c, auto in, auto out, auto& r, auto chunk) { all_reduce_ring(c, in, out, r, chunk); }},
    {"recursive_doubling", Order::ranks, false, false,
     [](auto& c, auto in, auto out, auto& r, auto chunk) {
       all_reduce_recursive_doubling(c, in, out, r, chunk);
     }},
    {"one_shot", Order::ranks, true, false,
     [](auto& c, auto in, auto out, auto& r, auto) { all_reduce_one_shot(c, in, out, r); }},
    {"direct", Order::ranks, true, false,
     [](auto& c, auto in, auto out, auto& r, auto chunk) { all_reduce_direct(c, in, out, r, chunk); }},
    {"flat", Order::ranks, true, true,
     [](auto& c, auto in, auto out, auto& r, auto) { all_reduce_flat(c, in, out, r); }},
};

void all_reduce_once(const AllReducer& algorithm, FakeChannel& channel, std::size_t count, std::size_t chunk,
                     bool in_place, std::size_t divisor) {
  const int n = channel.size();
  const std::string where = at(algorithm.name, channel, count) + (in_place ? ", in place" : "") +
                            ", chunks of " + std::to_string(chunk);
  const Memory original = Memory::of(channel.rank(), count);
  Memory in = original;
  Memory out(count);
  begin(channel);
  algorithm.run(channel, in.bytes(), in_place ? in.bytes() : out.bytes(), composition(divisor), chunk);
  if (!in_place) {
    EXPECT_EQ(in, original) << where << ": the input was written";
  }
  check(in_place ? in : out, where, [&](std::size_t i) {
    int start = 0;
    if (algorithm.order == Order::ring) {
      int segment = 0;
      while (i >= part_of(count, n, segment).end()) ++segment;
      start = (segment + 1) % n;
    }
    return combined(start, n, i, divisor);
  });
  expect_once(algorithm.once, channel, count, where);
  EXPECT_EQ(channel.met(), algorithm.flat ? 1 : 0) << where;
}

TEST(AllReduce, EverySizeAndCount) {
  for (const AllReducer& algorithm : all_reducers) {
    for (const int n : group_sizes()) {
      for (const Settings& settings : worlds(n, algorithm.flat)) {
        World world(settings);
        EXPECT_EQ(world.run([&](FakeChannel& channel) {
          for (const std::size_t count : vector_counts(n)) {
            for (const std::size_t chunk : {40U, 64U, 4096U}) {
              all_reduce_once(algorithm, channel, count, chunk, false, 0);
              all_reduce_once(algorithm, channel, count, chunk, true, static_cast<std::size_t>(n));
            }
          }
        }),
                  "")
            << algorithm.name << " of " << n;
      }
    }
  }
}

// More than two chunks per segment of the size that ships.
TEST(AllReduce, ChunksOfTheShippedSize) {
  const std::size_t count = 3 * (3 * default_chunk_bytes / sizeof(Word)) + 5;
  for (const AllReducer& algorithm : all_reducers) {
    World world({3, algorithm.flat ? ArenaKind::shared : ArenaKind::none, std::size_t{128} << 10});
    EXPECT_EQ(world.run([&](FakeChannel& channel) {
      all_reduce_once(algorithm, channel, count, default_chunk_bytes, true, 3);
    }),
              "")
        << algorithm.name;
  }
}

// Slots in which a part of a chunk has just the least useful size, and vectors of a few chunks, of one less
// and of one more: every way in which the rounds of the flat form overlap.
TEST(AllReduce, FlatRoundsThatOverlap) {
  const AllReducer& flat = all_reducers[std::size(all_reducers) - 1];
  ASSERT_TRUE(flat.flat);
  for (const int n : group_sizes()) {
    const auto ranks = static_cast<std::size_t>(n);
    const std::size_t part_bytes = 1024;
    const std::size_t chunk = ranks * part_bytes / sizeof(Word);
    for (const ArenaKind kind : {ArenaKind::shared, ArenaKind::snapshots}) {
      World world({n, kind, part_bytes * (3 * (ranks - 1) + 2)});
      EXPECT_EQ(world.run([&](FakeChannel& channel) {
        for (std::size_t chunks = 1; chunks <= 5; ++chunks) {
          for (const std::size_t count : {chunks * chunk - 1, chunks * chunk, chunks * chunk + 1}) {
            all_reduce_once(flat, channel, count, 0, false, ranks);
            all_reduce_once(flat, channel, count, 0, true, 0);
          }
        }
      }),
                "")
          << n;
    }
  }
}

struct Scatterer {
  const char* name;
  Order order;
  bool once;
  bool flat;
  std::function<void(Channel&, ConstBytes, Bytes, Counts, const Reduction&, std::size_t chunk)> run;
};

const Scatterer scatterers[] = {
    {"ring", Order::ring, false, false,
     [](auto& c, auto in, auto out, auto counts, auto& r, auto chunk) {
       reduce_scatter_ring(c, in, out, counts, r, chunk);
     }},
    {"direct", Order::ranks, true, false,
     [](auto& c, auto in, auto out, auto counts, auto& r, auto chunk) {
       reduce_scatter_direct(c, in, out, counts, r, chunk);
     }},
    {"flat", Order::ranks, true, true,
     [](auto& c, auto in, auto out, auto counts, auto& r, auto) {
       reduce_scatter_flat(c, in, out, counts, r);
     }},
};

void reduce_scatter_once(const Scatterer& algorithm, FakeChannel& channel, const Sizes& counts,
                         std::size_t chunk, std::size_t divisor) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::string where = at(algorithm.name, channel, sum(counts)) + ", chunks of " + std::to_string(chunk);
  const Memory original = Memory::of(rank, sum(counts));
  Memory in = original;
  Memory out(counts[static_cast<std::size_t>(rank)]);
  begin(channel);
  algorithm.run(channel, in.bytes(), out.bytes(), counts, composition(divisor), chunk);
  EXPECT_EQ(in, original) << where << ": the input was written";
  const int start = algorithm.order == Order::ring ? (rank + 1) % n : 0;
  check(out, where, [&](std::size_t i) { return combined(start, n, before(counts, rank) + i, divisor); });
  expect_once(algorithm.once, channel, out.size(), where);
  EXPECT_EQ(channel.met(), algorithm.flat ? 1 : 0) << where;
}

TEST(ReduceScatter, EverySizeAndSplit) {
  for (const Scatterer& algorithm : scatterers) {
    for (const int n : group_sizes()) {
      for (const Settings& settings : worlds(n, algorithm.flat)) {
        World world(settings);
        EXPECT_EQ(world.run([&](FakeChannel& channel) {
          for (const Sizes& counts : part_counts(n)) {
            for (const std::size_t chunk : {8U, 40U, 4096U}) {
              reduce_scatter_once(algorithm, channel, counts, chunk, 0);
              reduce_scatter_once(algorithm, channel, counts, chunk, static_cast<std::size_t>(n));
            }
          }
        }),
                  "")
            << algorithm.name << " of " << n;
      }
    }
  }
}

// A region of 64 bytes holds 8 words: fewer than one for each of 11 ranks.
TEST(ReduceScatter, FlatWithMoreRanksThanRoom) {
  World world({11, ArenaKind::snapshots, 128});
  EXPECT_EQ(world.run([&](FakeChannel& channel) {
    for (const Sizes& counts : part_counts(11)) reduce_scatter_once(scatterers[2], channel, counts, 64, 11);
  }),
            "");
}

struct Reducer {
  const char* name;
  Order order;
  bool once;
  bool flat;
  std::function<void(Channel&, ConstBytes, Bytes, int root, const Reduction&, std::size_t chunk)> run;
};

const Reducer reducers[] = {
    {"binomial", Order::from_root, false, false,
     [](auto& c, auto in, auto out, auto root, auto& r, auto chunk) {
       reduce_binomial(c, in, out, root, r, chunk);
     }},
    {"direct", Order::ranks, true, false,
     [](auto& c, auto in, auto out, auto root, auto& r, auto chunk) {
       reduce_direct(c, in, out, root, r, chunk);
     }},
    {"flat", Order::ranks, true, true,
     [](auto& c, auto in, auto out, auto root, auto& r, auto) { reduce_flat(c, in, out, root, r); }},
};

void reduce_once(const Reducer& algorithm, FakeChannel& channel, std::size_t count, int root,
                 std::size_t chunk, bool in_place) {
  const int n = channel.size();
  const bool is_root = channel.rank() == root;
  const std::size_t divisor = in_place ? static_cast<std::size_t>(n) : 0;
  const std::string where = at(algorithm.name, channel, count) + ", root " + std::to_string(root) +
                            (in_place ? ", in place" : "") + ", chunks of " + std::to_string(chunk);
  const Memory original = Memory::of(channel.rank(), count);
  Memory in = original;
  Memory out(is_root ? count : 0);
  begin(channel);
  algorithm.run(channel, in.bytes(), is_root && in_place ? in.bytes() : out.bytes(), root,
                composition(divisor), chunk);
  if (!is_root || !in_place) {
    EXPECT_EQ(in, original) << where << ": the input was written";
  }
  if (is_root) {
    const int start = algorithm.order == Order::from_root ? root : 0;
    check(in_place ? in : out, where, [&](std::size_t i) { return combined(start, n, i, divisor); });
  }
  expect_once(algorithm.once, channel, count, where);
  EXPECT_EQ(channel.met(), algorithm.flat ? 1 : 0) << where;
}

TEST(Reduce, EverySizeCountAndRoot) {
  for (const Reducer& algorithm : reducers) {
    for (const int n : group_sizes()) {
      for (const Settings& settings : worlds(n, algorithm.flat)) {
        World world(settings);
        EXPECT_EQ(world.run([&](FakeChannel& channel) {
          for (int root = 0; root < n; ++root) {
            for (const std::size_t count : vector_counts(n)) {
              for (const std::size_t chunk : {40U, 4096U}) {
                reduce_once(algorithm, channel, count, root, chunk, false);
                reduce_once(algorithm, channel, count, root, chunk, true);
              }
            }
          }
        }),
                  "")
            << algorithm.name << " of " << n;
      }
    }
  }
}

}  // namespace
}  // namespace rondo::collective::fake
