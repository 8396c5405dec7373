// Collectives that move and do not combine, over a strict channel.

#include <gtest/gtest.h>

#include <atomic>

#include "collective/algorithms.hpp"
#include "collective/partition.hpp"
#include "collective/test_support.hpp"

namespace rondo::collective::fake {
namespace {

/// What rank `rank` contributes to a gather, at element `i` of the whole.
Word gathered(const Sizes& counts, std::size_t i) {
  int rank = 0;
  while (i >= before(counts, rank + 1)) ++rank;
  return value(rank, i);
}

/// The whole with this rank's part in place, and rubbish elsewhere.
Memory own_part_of(const Sizes& counts, int rank) {
  Memory memory(sum(counts));
  const std::size_t begin = before(counts, rank);
  for (std::size_t i = 0; i < counts[static_cast<std::size_t>(rank)]; ++i)
    memory[begin + i] = value(rank, begin + i);
  return memory;
}
Bytes part_of_rank(Memory& memory, const Sizes& counts, int rank) {
  return cut(memory.bytes(), {before(counts, rank), counts[static_cast<std::size_t>(rank)]}, sizeof(Word));
}

struct Gatherer {
  const char* name;
  bool flat;
  std::function<void(Channel&, ConstBytes, Bytes, Counts, std::size_t chunk)> run;
};

const Gatherer gatherers[] = {
    {"ring", false,
     [](auto& c, auto in, auto out, auto sizes, auto chunk) { all_gather_ring(c, in, out, sizes, chunk); }},
    {"direct", false,
     [](auto& c, auto in, auto out, auto sizes, auto) { all_gather_direct(c, in, out, sizes); }},
    {"flat", true, [](auto& c, auto in, auto out, auto sizes, auto) { all_gather_flat(c, in, out, sizes); }},
};

TEST(AllGather, EverySizeAndSplit) {
  for (const Gatherer& algorithm : gatherers) {
    for (const int n : group_sizes()) {
      for (const Settings& settings : worlds(n, algorithm.flat)) {
        World world(settings);
        EXPECT_EQ(world.run([&](FakeChannel& channel) {
          for (const Sizes& counts : part_counts(n)) {
            for (const std::size_t chunk : {24U, 64U, 4096U}) {
              for (const bool in_place : {false, true}) {
                Memory in = own_part_of(counts, channel.rank());
                Memory out(sum(counts));
                Memory& whole = in_place ? in : out;
                channel.next_call();
                algorithm.run(channel, part_of_rank(in, counts, channel.rank()), whole.bytes(),
                              in_bytes(counts), chunk);
                check(whole, at(algorithm.name, channel, sum(counts)),
                      [&](std::size_t i) { return gathered(counts, i); });
                EXPECT_EQ(channel.met(), algorithm.flat ? 1 : 0);
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

struct Broadcaster {
  const char* name;
  bool flat;
  std::function<void(Channel&, Bytes, int root, std::size_t chunk)> run;
};

const Broadcaster broadcasters[] = {
    {"binomial", false,
     [](auto& c, auto data, auto root, auto chunk) { broadcast_binomial(c, data, root, chunk); }},
    {"flat", true, [](auto& c, auto data, auto root, auto) { broadcast_flat(c, data, root); }},
};

TEST(Broadcast, EverySizeCountAndRoot) {
  for (const Broadcaster& algorithm : broadcasters) {
    for (const int n : group_sizes()) {
      for (const Settings& settings : worlds(n, algorithm.flat)) {
        World world(settings);
        EXPECT_EQ(world.run([&](FakeChannel& channel) {
          for (int root = 0; root < n; ++root) {
            for (const std::size_t count : vector_counts(n)) {
              for (const std::size_t chunk : {20U, 64U, 4096U}) {
                Memory data = Memory::of(channel.rank(), count);
                channel.next_call();
                algorithm.run(channel, data.bytes(), root, chunk);
                check(data, at(algorithm.name, channel, count),
                      [&](std::size_t i) { return value(root, i); });
                EXPECT_EQ(channel.met(), algorithm.flat ? 1 : 0);
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

TEST(Gather, EverySizeSplitAndRoot) {
  for (const int n : group_sizes()) {
    World world({n, ArenaKind::none, 128});
    EXPECT_EQ(world.run([&](FakeChannel& channel) {
      for (int root = 0; root < n; ++root) {
        for (const Sizes& counts : part_counts(n)) {
          for (const bool in_place : {false, true}) {
            const bool is_root = channel.rank() == root;
            Memory in = own_part_of(counts, channel.rank());
            Memory out(is_root ? sum(counts) : 0);
            Memory& whole = is_root && in_place ? in : out;
            channel.next_call();
            gather_linear(channel, part_of_rank(in, counts, channel.rank()), whole.bytes(), in_bytes(counts),
                          root);
            check(whole, at("gather", channel, sum(counts)),
                  [&](std::size_t i) { return gathered(counts, i); });
          }
        }
      }
    }),
              "")
        << n;
  }
}

TEST(Scatter, EverySizeSplitAndRoot) {
  for (const int n : group_sizes()) {
    World world({n, ArenaKind::none, 128});
    EXPECT_EQ(world.run([&](FakeChannel& channel) {
      for (int root = 0; root < n; ++root) {
        for (const Sizes& counts : part_counts(n)) {
          for (const bool in_place : {false, true}) {
            const bool is_root = channel.rank() == root;
            Memory in = is_root ? Memory::of(root, sum(counts)) : Memory(0);
            Memory out(counts[static_cast<std::size_t>(channel.rank())]);
            const Bytes part = is_root && in_place ? part_of_rank(in, counts, root) : out.bytes();
            channel.next_call();
            scatter_linear(channel, in.bytes(), part, in_bytes(counts), root);
            if (is_root) {
              check(in, at("scatter, the root's", channel, sum(counts)),
                    [&](std::size_t i) { return value(root, i); });
              if (in_place) continue;
            }
            check(out, at("scatter", channel, sum(counts)),
                  [&](std::size_t i) { return value(root, before(counts, channel.rank()) + i); });
          }
        }
      }
    }),
              "")
        << n;
  }
}

TEST(AllToAll, EverySizeAndMatrix) {
  for (const int n : group_sizes()) {
    World world({n, ArenaKind::none, 128});
    EXPECT_EQ(world.run([&](FakeChannel& channel) {
      for (std::size_t pattern = 0; pattern < 5; ++pattern) {
        // Equal parts; unequal; a rank that sends nothing; a rank that gets nothing; nothing at all.
        const auto count = [&](int from, int to) -> std::size_t {
          if (pattern == 4 || (pattern == 2 && from == n - 1) || (pattern == 3 && to == 0)) return 0;
          return pattern == 0 ? 5 : mix(static_cast<Word>(from * 64 + to)) % 23;
        };
        const int rank = channel.rank();
        Sizes send;
        Sizes recv;
        for (int r = 0; r < n; ++r) {
          send.push_back(count(rank, r));
          recv.push_back(count(r, rank));
        }
        Memory in = Memory::of(rank, sum(send));
        Memory out(sum(recv));
        channel.next_call();
        all_to_all_pairwise(channel, in.bytes(), out.bytes(), in_bytes(send), in_bytes(recv));
        check(out, at("all_to_all", channel, sum(recv)), [&](std::size_t i) {
          int from = 0;
          while (i >= before(recv, from + 1)) ++from;
          std::size_t index = i - before(recv, from);
          for (int to = 0; to < rank; ++to) index += count(from, to);
          return value(from, index);
        });
      }
    }),
              "")
        << n;
  }
}

/// Elements per pair: around the sizes at which the rounds of an arena begin, and some rounds more.
std::vector<std::size_t> part_sizes(const Settings& settings) {
  if (settings.slot_bytes < 8192) return {0, 1, 2, 3, 11, 12, 47};
  return {0, 1, 331, 1400};
}

TEST(Gather, FlatEverySizeAndRoot) {
  for (const int n : group_sizes()) {
    for (const Settings& settings : arenas(n)) {
      World world(settings);
      EXPECT_EQ(world.run([&](FakeChannel& channel) {
        for (int root = 0; root < n; ++root) {
          for (const std::size_t part : part_sizes(settings)) {
            for (const bool in_place : {false, true}) {
              const Sizes counts(static_cast<std::size_t>(n), part);
              const bool is_root = channel.rank() == root;
              Memory in = own_part_of(counts, channel.rank());
              Memory out(is_root ? sum(counts) : 0);
              Memory& whole = is_root && in_place ? in : out;
              channel.next_call();
              gather_flat(channel, part_of_rank(in, counts, channel.rank()),
                          is_root ? whole.bytes() : Bytes{}, root);
              check(whole, at("gather", channel, sum(counts)),
                    [&](std::size_t i) { return gathered(counts, i); });
              EXPECT_EQ(channel.met(), 1);
            }
          }
        }
      }),
                "")
          << n;
    }
  }
}

TEST(Scatter, FlatEverySizeAndRoot) {
  for (const int n : group_sizes()) {
    for (const Settings& settings : arenas(n)) {
      World world(settings);
      EXPECT_EQ(world.run([&](FakeChannel& channel) {
        for (int root = 0; root < n; ++root) {
          for (const std::size_t part : part_sizes(settings)) {
            for (const bool in_place : {false, true}) {
              const Sizes counts(static_cast<std::size_t>(n), part);
              const bool is_root = channel.rank() == root;
              Memory in = is_root ? Memory::of(root, sum(counts)) : Memory(0);
              Memory out(part);
              const Bytes own = is_root && in_place ? part_of_rank(in, counts, root) : out.bytes();
              channel.next_call();
              scatter_flat(channel, in.bytes(), own, root);
              EXPECT_EQ(channel.met(), 1);
              if (is_root) {
                check(in, at("scatter, the root's", channel, sum(counts)),
                      [&](std::size_t i) { return value(root, i); });
                if (in_place) continue;
              }
              check(out, at("scatter", channel, sum(counts)),
                    [&](std::size_t i) { return value(root, before(counts, channel.rank()) + i); });
            }
          }
        }
      }),
                "")
          << n;
    }
  }
}

TEST(AllToAll, FlatEverySize) {
  for (const int n : group_sizes()) {
    for (const Settings& settings : arenas(n)) {
      World world(settings);
      EXPECT_EQ(world.run([&](FakeChannel& channel) {
        for (const std::size_t part : part_sizes(settings)) {
          const int rank = channel.rank();
          Memory in = Memory::of(rank, part * static_cast<std::size_t>(n));
          Memory out(part * static_cast<std::size_t>(n));
          channel.next_call();
          all_to_all_flat(channel, in.bytes(), out.bytes(), part * sizeof(Word));
          check(out, at("all_to_all", channel, part), [&](std::size_t i) {
            return value(static_cast<int>(i / part), static_cast<std::size_t>(rank) * part + i % part);
          });
          EXPECT_EQ(channel.met(), 1);
        }
      }),
                "")
          << n;
    }
  }
}

// More ranks than a small slot has room for: it grows to what flat algorithms need.
TEST(AllToAll, FlatWithTheLeastSlots) {
  constexpr int n = 40;
  EXPECT_EQ(transport::slot_bytes_for(255, n), 0U);  // none is asked for
  EXPECT_EQ(transport::slot_bytes_for(4096 + 255, 2), 4096U);
  const std::size_t slot = transport::slot_bytes_for(256, n) / 2;  // of one call
  World world({n, ArenaKind::shared, slot});
  EXPECT_EQ(world.run([&](FakeChannel& channel) {
    for (const std::size_t part : {1U, 2U, 7U}) {
      const int rank = channel.rank();
      Memory in = Memory::of(rank, part * n);
      Memory out(part * n);
      channel.next_call();
      all_to_all_flat(channel, in.bytes(), out.bytes(), part * sizeof(Word));
      check(out, at("all_to_all", channel, part), [&](std::size_t i) {
        return value(static_cast<int>(i / part), static_cast<std::size_t>(rank) * part + i % part);
      });
      Memory own(part);
      channel.next_call();
      scatter_flat(channel, rank == 3 ? ConstBytes(in.bytes()) : ConstBytes{}, own.bytes(), 3);
      check(own, at("scatter", channel, part),
            [&](std::size_t i) { return value(3, static_cast<std::size_t>(rank) * part + i); });
    }
  }),
            "");
}

TEST(Barrier, NobodyLeavesBeforeEverybodyHasCome) {
  for (const bool flat : {false, true}) {
    for (int n = 2; n <= 9; ++n) {
      World world({n, flat ? ArenaKind::shared : ArenaKind::none, 128});
      std::vector<std::atomic<int>> came(static_cast<std::size_t>(n));
      EXPECT_EQ(world.run([&](FakeChannel& channel) {
        for (int round = 1; round <= 50; ++round) {
          channel.next_call();
          came[static_cast<std::size_t>(channel.rank())].store(round, std::memory_order_relaxed);
          flat ? barrier_flat(channel) : barrier_dissemination(channel);
          for (const std::atomic<int>& other : came) EXPECT_GE(other.load(std::memory_order_relaxed), round);
        }
      }),
                "")
          << n;
    }
  }
}

}  // namespace
}  // namespace rondo::collective::fake
