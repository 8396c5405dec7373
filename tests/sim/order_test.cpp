// Ranks that disagree about what they do together: an error that names both, on every rank.

#include <gtest/gtest.h>

#include <algorithm>

#include "support/values.hpp"
#include "support/world.hpp"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

// Where all ranks wait and none sends (a broadcast with two roots), half of the limit passes before they
// talk.
constexpr Duration limit = 2s;

struct Kind {
  const char* name;
  std::vector<std::string_view> said;                        ///< what every rank's error must name
  std::function<void(const Group&, bool odd_one_out)> call;  ///< `odd_one_out` on the rank that differs
};

Tensor floats(std::int64_t count) { return values(DType::float32, Shape{count}, 0, Content::sums); }

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"counts of all_reduce",
       {"10", "20"},
       [](const Group& group, bool odd) { (void)group.all_sum(floats(odd ? 20 : 10)); }},
      {"large counts of all_reduce",
       {"100000", "200000"},
       [](const Group& group, bool odd) { (void)group.all_sum(floats(odd ? 200'000 : 100'000)); }},
      {"type",
       {"float32", "int32"},
       [](const Group& group, bool odd) {
         (void)group.all_sum(odd ? Tensor(DType::int32, {10}) : Tensor(DType::float32, {10}));
       }},
      {"operation",
       {"sum", "max"},
       [](const Group& group, bool odd) {
         (void)group.all_reduce(floats(10), odd ? ReduceOp::max : ReduceOp::sum);
       }},
      {"verb",
       {"all_sum", "all_gather"},
       [](const Group& group, bool odd) {
         if (odd) {
           (void)group.all_gather(floats(10));
         } else {
           (void)group.all_sum(floats(10));
         }
       }},
      {"barrier against reduction",
       {"barrier", "all_sum"},
       [](const Group& group, bool odd) {
         if (odd) {
           group.barrier();
         } else {
           (void)group.all_sum(floats(1));
         }
       }},
      {"root of broadcast",
       {"root 0", "root 1"},
       [](const Group& group, bool odd) { (void)group.broadcast(floats(10), odd ? 1 : 0); }},
      {"root of reduce",
       {"root 0", "root 1"},
       [](const Group& group, bool odd) { (void)group.reduce(floats(10), ReduceOp::sum, odd ? 1 : 0); }},
      {"root of gather",
       {"root 0", "root 2"},
       [](const Group& group, bool odd) { (void)group.gather(floats(10), odd ? 2 : 0); }},
      {"counts of all_gather",
       {"3", "4"},
       [](const Group& group, bool odd) { (void)group.all_gather(floats(odd ? 4 : 3)); }},
      {"counts of broadcast",
       {"3", "4"},
       [](const Group& group, bool odd) { (void)group.broadcast(floats(odd ? 4 : 3), 0); }},
      {"zero against some",
       {"0", "7"},
       [](const Group& group, bool odd) { (void)group.all_sum(floats(odd ? 0 : 7)); }},
  };
  return all;
}

void check(const World& world, const Kind& kind, int odd_rank) {
  SCOPED_TRACE(label(kind.name, "differs on rank", odd_rank));
  const World hasty = world.with([](Config& config) { config.timeout = limit; });
  hasty.run(3, [&](const Group& group) {
    SCOPED_TRACE(label(kind.name, "differs on rank", odd_rank));
    auto error = error_of([&] { kind.call(group, group.rank() == odd_rank); });
    if (world.config.check_agreement) {
      EXPECT_TRUE(error.has_value()) << "agreement is checked in the call";
    }
    // A rank that only sent may have returned. The next call finds it; on a rank to which that call's frames
    // came before it was found, the one after.
    for (int turn = 0; turn < 2 && !error; ++turn) error = error_of([&] { group.barrier(); });
    expect_is(error, ErrorKind::mismatch);
    if (error) {
      EXPECT_LT(error->elapsed(), limit) << "a disagreement is found before the limit runs out";
    }
    const std::string text = error ? error->what() : "";
    // Who is still owed something by a rank that has gone on can only name what that rank does now.
    const bool late = text.find("is ahead") != std::string::npos;
    const auto named = std::ranges::count_if(
        kind.said, [&](std::string_view part) { return text.find(part) != std::string::npos; });
    EXPECT_GE(named, late ? 1 : 2) << text;
    expect_is(error_of([&] { group.barrier(); }), ErrorKind::mismatch);
    ASSERT_TRUE(group.failure().has_value());
    EXPECT_EQ(group.failure()->kind, ErrorKind::mismatch);
  });
}

TEST(Order, EveryDisagreementIsAMismatchOnEveryRank) {
  for (const World& world : worlds()) {
    SCOPED_TRACE(world.name);
    for (const Kind& kind : kinds()) {
      for (const int odd_rank : {0, 1, 2}) check(world, kind, odd_rank);
    }
  }
}

TEST(Order, NamesAreCompared) {
  for (const World& world : worlds()) {
    world.run(2, [](const Group& group) {
      const auto error = error_of(
          [&] { (void)group.all_sum(floats(3), {.name = group.rank() == 0 ? "loss" : "gradient"}); });
      expect_is(error, ErrorKind::mismatch);
    });
  }
}

// A name or none, equal everywhere, changes nothing.
TEST(Order, EqualNamesAreFine) {
  for (const World& world : worlds()) {
    world.run(2, [](const Group& group) {
      EXPECT_EQ(group.all_sum(floats(3), {.name = "loss"}).count(), 3U);
      group.barrier({.name = "end"});
    });
  }
}

TEST(Order, OneCallMoreOnOneRank) {
  for (const World& world : worlds()) {
    world.run(3, [](const Group& group) {
      const auto first = error_of([&] { (void)group.all_sum(floats(3)); });
      if (group.rank() == 0) {
        EXPECT_FALSE(first.has_value());
        expect_is(error_of([&] { (void)group.all_gather(floats(3)); }), ErrorKind::disconnected);
      } else if (first) {  // the end of the group came in the way of a slower one
        EXPECT_EQ(first->kind(), ErrorKind::disconnected) << first->what();
      }
    });
  }
}

// Sizes of a v form that do not fit its own arguments are refused before anything moves.
TEST(Order, WrongArgumentsMoveNothing) {
  for (const World& world : worlds()) {
    world.run(3, [](const Group& group) {
      const std::vector<std::size_t> two = {1, 1};
      const std::vector<std::size_t> three = {1, 1, 1};
      const std::vector<std::size_t> other = {2, 2, 2};
      Tensor out(DType::float32, {2});
      constexpr auto invalid = ErrorKind::invalid_argument;
      expect_error(invalid, {"all_gather_v"}, [&] { (void)group.all_gather_v(floats(1), two); });
      expect_error(invalid, {"all_gather_v"}, [&] { (void)group.all_gather_v(floats(1), other); });
      expect_error(invalid, {}, [&] { (void)group.sum_scatter_v(floats(4), three); });
      expect_error(invalid, {}, [&] { group.all_gather(floats(1), out.view()); });
      expect_error(invalid, {}, [&] { group.all_sum(floats(3), out.view()); });
      expect_error(invalid, {}, [&] { group.all_sum(Tensor(DType::int32, {2}), out.view()); });
      expect_error(invalid, {}, [&] { (void)group.all_to_all(floats(4)); });
      expect_error(invalid, {}, [&] { (void)group.broadcast(floats(4), 3); });
      expect_error(invalid, {}, [&] { (void)group.reduce(floats(4), ReduceOp::sum, -1); });
      expect_error(invalid, {}, [&] { (void)group.gather(floats(4), 7); });
      EXPECT_EQ(group.all_sum(floats(5)).count(), 5U);
    });
  }
}

// A wrong call on one rank alone leaves that rank in step with the others.
TEST(Order, ARefusedCallIsNotCounted) {
  for (const World& world : worlds()) {
    world.run(3, [](const Group& group) {
      for (int round = 0; round < 3; ++round) {
        if (group.rank() == round) {
          expect_error(ErrorKind::invalid_argument, {}, [&] { (void)group.broadcast(floats(4), 9); });
          expect_error(ErrorKind::unsupported, {}, [&] { (void)group.all_sum(Tensor::of<bool>({true})); });
          expect_error(ErrorKind::invalid_argument, {}, [&] { group.send(floats(4), 9); });
        }
        EXPECT_TRUE(same(group.all_sum(Tensor::of<std::int32_t>({round + 1})),
                         Tensor::of<std::int32_t>({3 * (round + 1)})));
      }
    });
  }
}

}  // namespace
}  // namespace rondo::test
