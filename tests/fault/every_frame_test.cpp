// Every frame of every call is lost, cut, repeated or corrupted, once each: every rank gets an error or the
// right result, and nobody hangs (time is virtual; the watchdog would tell).

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <string>

#include "faulty_world.hpp"

namespace rondo::test {
namespace {

constexpr int size = 3;
constexpr int faulty_rank_count = size;

std::int64_t value(int rank, std::size_t index) {
  return 1000 * (rank + 1) + static_cast<std::int64_t>(7 * index);
}

std::vector<std::int64_t> values(int rank, std::size_t count) {
  std::vector<std::int64_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = value(rank, i);
  return out;
}

std::vector<std::int64_t> sums(std::size_t count) {
  std::vector<std::int64_t> out(count);
  for (int rank = 0; rank < size; ++rank) {
    for (std::size_t i = 0; i < count; ++i) out[i] += value(rank, i);
  }
  return out;
}

using Numbers = std::vector<std::int64_t>;

// A call, and whether its result was right. Throws what the call throws.
struct Scenario {
  std::string name;
  std::function<bool(Group&)> call;
};

bool reduce_right(Group& g, std::size_t count) {
  Numbers x = values(g.rank(), count);
  g.all_sum(x);
  return x == sums(count);
}

bool gather_right(Group& g, std::size_t count) {
  Numbers out(count * size);
  g.all_gather(values(g.rank(), count), out);
  Numbers expected;
  for (int r = 0; r < size; ++r) {
    const Numbers part = values(r, count);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  return out == expected;
}

bool scatter_sum_right(Group& g) {
  Numbers out(4);
  g.sum_scatter(values(g.rank(), 12), out);
  const Numbers all = sums(12);
  const auto begin = all.begin() + 4 * g.rank();
  return out == Numbers(begin, begin + 4);
}

bool broadcast_right(Group& g, int root) {
  Numbers x = values(g.rank(), 9);
  g.broadcast(x, root);
  return x == values(root, 9);
}

bool reduce_to_right(Group& g, int root) {
  Numbers out(9);
  g.reduce(values(g.rank(), 9), out, ReduceOp::sum, root);
  return g.rank() != root || out == sums(9);
}

bool rooted_right(Group& g) {
  Numbers all(size * 3);
  g.gather(values(g.rank(), 3), all, 1);
  Numbers mine(3);
  g.scatter(all, mine, 1);
  return mine == values(g.rank(), 3);
}

bool exchange_right(Group& g) {
  // Rank s sends (s + d) % 3 rows of two to rank d.
  std::vector<std::size_t> send(size);
  std::vector<std::size_t> recv(size);
  for (int peer = 0; peer < size; ++peer) {
    send[static_cast<std::size_t>(peer)] = static_cast<std::size_t>((g.rank() + peer) % 3);
    recv[static_cast<std::size_t>(peer)] = static_cast<std::size_t>((g.rank() + peer) % 3);
  }
  const std::size_t rows = std::accumulate(send.begin(), send.end(), std::size_t{0});
  const Numbers in = values(g.rank(), 2 * rows);
  const Tensor out = g.all_to_all_v(Tensor(in, {static_cast<std::int64_t>(rows), 2}), send, recv);
  Numbers expected;
  for (int s = 0; s < size; ++s) {
    std::size_t before = 0;
    for (int d = 0; d < g.rank(); ++d) before += static_cast<std::size_t>((s + d) % 3);
    const Numbers theirs = values(s, 2 * (before + static_cast<std::size_t>((s + g.rank()) % 3)));
    expected.insert(expected.end(), theirs.begin() + static_cast<std::ptrdiff_t>(2 * before), theirs.end());
  }
  const auto got = out.span<std::int64_t>();
  return Numbers(got.begin(), got.end()) == expected;
}

bool barrier_right(Group& g) {
  g.barrier();
  return true;
}

bool split_right(Group& g) {
  const auto half = g.split(g.rank() == 1 ? 1 : 0);
  Numbers x = values(g.rank(), 5);
  half->all_sum(x);
  Numbers expected = values(g.rank(), 5);
  if (g.rank() != 1) {
    const Numbers other = values(2 - g.rank(), 5);
    for (std::size_t i = 0; i < 5; ++i) expected[i] += other[i];
  }
  return x == expected;
}

bool shift_right(Group& g, std::size_t count) {
  Numbers in(count);
  const int from = (g.rank() + size - 1) % size;
  const MessageInfo info = g.sendrecv(values(g.rank(), count), (g.rank() + 1) % size, in, from, {.tag = 5});
  return in == values(from, count) && info.source == from && info.tag == 5;
}

bool pair_right(Group& g, std::size_t count) {
  if (g.rank() == 2) return true;
  Numbers in(count);
  if (g.rank() == 0) {
    g.send(values(0, count), 1);
    g.recv_into(in, 1);
    return in == values(1, count);
  }
  g.recv_into(in, any_source);
  g.send(values(1, count), 0);
  return in == values(0, count);
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{
      {"all_sum 1", [](Group& g) { return reduce_right(g, 1); }},
      {"all_sum 5000", [](Group& g) { return reduce_right(g, 5000); }},
      {"all_gather 4", [](Group& g) { return gather_right(g, 4); }},
      {"sum_scatter", scatter_sum_right},
      {"broadcast 0", [](Group& g) { return broadcast_right(g, 0); }},
      {"broadcast 2", [](Group& g) { return broadcast_right(g, 2); }},
      {"reduce 1", [](Group& g) { return reduce_to_right(g, 1); }},
      {"gather and scatter", rooted_right},
      {"all_to_all_v", exchange_right},
      {"barrier", barrier_right},
      {"split", split_right},
      {"sendrecv, eager", [](Group& g) { return shift_right(g, 6); }},
      {"sendrecv, offered", [](Group& g) { return shift_right(g, 6000); }},
      {"send and recv, eager", [](Group& g) { return pair_right(g, 3); }},
      {"send and recv, offered", [](Group& g) { return pair_right(g, 5000); }},
  };
  return all;
}

Config quick(bool check_payload, bool check_agreement) {
  Config config;
  config.timeout = std::chrono::seconds(1);  // of virtual time
  config.check_payload = check_payload;
  config.check_agreement = check_agreement;
  return config;
}

// The call twice: what a lost last frame spoils shows at the latest in the second.
void twice(Group& group, const Scenario& scenario, std::atomic<int>& wrong, std::atomic<int>& errors) {
  try {
    for (int round = 0; round < 2; ++round) {
      if (!scenario.call(group)) ++wrong;
    }
  } catch (const Error&) {
    ++errors;
  }
}

class EveryFrame : public testing::TestWithParam<Action> {};

TEST_P(EveryFrame, GivesAnErrorOrTheRightResult) {
  const Action action = GetParam();
  const Config config = quick(action == Action::corrupt_payload, false);
  std::uint64_t seed = 1;
  int with_errors = 0;
  for (const Scenario& scenario : scenarios()) {
    std::atomic<int> wrong{0};
    std::atomic<int> errors{0};
    const auto frames =
        run_faulty(size, seed, -1, {}, config, [&](Group g) { twice(g, scenario, wrong, errors); });
    ASSERT_EQ(wrong, 0) << scenario.name << " at rest";
    ASSERT_EQ(errors, 0) << scenario.name << " at rest";
    for (int rank = 0; rank < faulty_rank_count; ++rank) {
      for (std::uint64_t frame = 0; frame < frames[static_cast<std::size_t>(rank)]; ++frame) {
        ++seed;
        const Rule rule{action, frame, std::chrono::milliseconds(300), static_cast<std::size_t>(seed * 37)};
        run_faulty(size, seed, rank, {rule}, config, [&](Group g) { twice(g, scenario, wrong, errors); });
        ASSERT_EQ(wrong, 0) << scenario.name << ": " << to_string(action) << " of frame " << frame
                            << " of rank " << rank;
      }
    }
    if (errors > 0) ++with_errors;
    if (action == Action::delay) {
      EXPECT_EQ(errors, 0) << scenario.name << ": a delay within the limit is no error";
    }
  }
  if (action != Action::delay) {
    EXPECT_GT(with_errors, 0) << "no fault was ever noticed";
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, EveryFrame,
                         testing::Values(Action::drop, Action::delay, Action::cut, Action::corrupt_header,
                                         Action::corrupt_payload, Action::duplicate),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST(EveryBit, OfAHeaderTurnedIsNoticed) {
  // One frame that matters, each of its 512 bits in turn.
  for (std::size_t bit = 0; bit < 512; ++bit) {
    std::atomic<int> wrong{0};
    std::atomic<int> errors{0};
    run_faulty(size, bit, 0, {{Action::corrupt_header, 0, {}, bit}}, quick(false, false),
               [&](Group g) { twice(g, scenarios()[0], wrong, errors); });
    EXPECT_EQ(wrong, 0) << "bit " << bit;
    EXPECT_GT(errors, 0) << "bit " << bit << " was not noticed";
  }
}

TEST(EveryBit, OfAPayloadTurnedIsNoticedWhenChecked) {
  for (std::size_t bit = 0; bit < 64; ++bit) {
    for (const std::size_t scenario : {std::size_t{0}, std::size_t{13}}) {
      std::atomic<int> wrong{0};
      std::atomic<int> errors{0};
      run_faulty(size, bit, 0, {{Action::corrupt_payload, 0, {}, bit}}, quick(true, false),
                 [&](Group g) { twice(g, scenarios()[scenario], wrong, errors); });
      EXPECT_EQ(wrong, 0) << "bit " << bit << " of " << scenarios()[scenario].name;
      EXPECT_GT(errors, 0) << "bit " << bit << " of " << scenarios()[scenario].name << " was not noticed";
    }
  }
}

TEST(Cut, NamesTheRankAndEndsTheGroupEverywhere) {
  std::vector<std::string> texts(size);
  std::vector<ErrorKind> kinds(size, ErrorKind::unsupported);
  run_faulty(size, 3, 1, {{Action::cut, 0, {}, 0}}, quick(false, false), [&](Group g) {
    const auto at = static_cast<std::size_t>(g.rank());
    try {
      for (;;) g.barrier();
    } catch (const Error& error) {
      kinds[at] = error.kind();
    }
    try {
      g.barrier();
    } catch (const Error& error) {
      texts[at] = error.what();
    }
    ASSERT_TRUE(g.failure().has_value());
  });
  for (std::size_t rank = 0; rank < size; ++rank) {
    EXPECT_EQ(kinds[rank], ErrorKind::disconnected) << rank;
    EXPECT_NE(texts[rank].find("the group has failed"), std::string::npos) << texts[rank];
    EXPECT_NE(texts[rank].find("was cut"), std::string::npos) << texts[rank];
  }
}

TEST(Agreement, FindsTwoRootsInTheCall) {
  std::atomic<int> found{0};
  run_faulty(size, 9, -1, {}, quick(false, true), [&](Group g) {
    Numbers x = values(g.rank(), 4);
    try {
      g.broadcast(x, g.rank() == 0 ? 0 : 1);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::mismatch) ++found;
    }
  });
  EXPECT_EQ(found, size);
}

}  // namespace
}  // namespace rondo::test
