// Rows B13 to B22 and B29 to B31 of the acceptance list: collectives.

#include "acceptance/support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rondo::test {
namespace {

constexpr auto invalid = ErrorKind::invalid_argument;
using Counts = std::vector<std::size_t>;

std::size_t index_of(int rank) { return static_cast<std::size_t>(rank); }

TEST(Acceptance, B13_SumMaxMinProductAndMean) {
  everywhere(4, [](const Group& group) {
    const float mine = static_cast<float>(group.rank() + 1);
    const Tensor in = Tensor::of<float>({mine, -mine});
    EXPECT_TRUE(same(group.all_sum(in), Tensor::of<float>({10, -10})));
    EXPECT_TRUE(same(group.all_max(in), Tensor::of<float>({4, -1})));
    EXPECT_TRUE(same(group.all_min(in), Tensor::of<float>({1, -4})));
    EXPECT_TRUE(same(group.all_reduce(in, ReduceOp::product), Tensor::of<float>({24, 24})));
    EXPECT_TRUE(same(group.all_reduce(in, ReduceOp::mean), Tensor::of<float>({2.5F, -2.5F})));
  });
}

TEST(Acceptance, B13_HalvesAccumulateWideAndRoundOnce) {
  // 2048 + 1 is 2048 in float16 and 256 + 1 is 256 in bfloat16; together the ones count.
  for (const World& world : worlds()) {
    world.run(4, [](const Group& group) {
      const float one_each = group.rank() == 0 ? 2048.0F : 1.0F;
      const Tensor half(std::vector<float16>(19, float16(one_each)), {19});
      const Tensor sum = group.all_sum(half);
      for (const float16 value : sum.span<float16>()) EXPECT_EQ(static_cast<float>(value), 2052.0F);
      const float brain_each = group.rank() == 0 ? 256.0F : 1.0F;
      const Tensor brain(std::vector<bfloat16>(19, bfloat16(brain_each)), {19});
      const Tensor brain_sum = group.all_sum(brain);
      for (const bfloat16 value : brain_sum.span<bfloat16>()) EXPECT_EQ(static_cast<float>(value), 260.0F);
    });
  }
}

TEST(Acceptance, B13_IntegerSumsWrap) {
  everywhere(3, [](const Group& group) {
    EXPECT_TRUE(
        same(group.all_sum(Tensor::of<std::uint8_t>({100, 200})), Tensor::of<std::uint8_t>({44, 88})));
    EXPECT_TRUE(same(group.all_sum(Tensor::of<std::int8_t>({100})), Tensor::of<std::int8_t>({44})));
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_TRUE(same(group.all_sum(Tensor::of<std::int64_t>({most})), Tensor::of<std::int64_t>({most - 2})));
  });
}

TEST(Acceptance, B13_WhatIsNotDefinedIsRefusedByName) {
  EXPECT_FALSE(supported(ReduceOp::sum, DType::bool_));
  EXPECT_FALSE(supported(ReduceOp::mean, DType::int32));
  EXPECT_FALSE(supported(ReduceOp::min, DType::complex64));
  EXPECT_FALSE(supported(ReduceOp::max, DType::float8_e4m3));
  for (const int size : {1, 3}) {
    everywhere(size, [](const Group& group) {
      for (const DType dtype : dtypes()) {
        for (const ReduceOp op : reduce_ops()) {
          const Tensor in(dtype, {3 * group.size()});
          SCOPED_TRACE(label(dtype, op));
          if (supported(op, dtype)) {
            EXPECT_EQ(group.all_reduce(in, op).count(), in.count());
            continue;
          }
          const auto kind = ErrorKind::unsupported;
          expect_error(kind, {to_string(op), to_string(dtype)}, [&] { (void)group.all_reduce(in, op); });
          expect_error(kind, {to_string(op), to_string(dtype)}, [&] { (void)group.reduce(in, op, 0); });
          if (group.size() > 1) {  // B21: there the input comes back unchecked
            expect_error(kind, {to_string(op), to_string(dtype)},
                         [&] { (void)group.reduce_scatter(in, op); });
          }
        }
      }
    });
  }
}

TEST(Acceptance, B14_NaNOnAnyRankIsNaNOnAll) {
  for (const World& world : worlds()) {
    for (const int size : {2, 3, 5}) {
      world.run(size, [](const Group& group) {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        for (int who = 0; who < group.size(); ++who) {
          for (const std::size_t count : {std::size_t{3}, std::size_t{5000}, std::size_t{40'000}}) {
            std::vector<float> in(count, static_cast<float>(group.rank() + 1));
            const std::size_t at = count - 2;
            if (group.rank() == who) in[at] = nan;
            for (const bool larger : {true, false}) {
              std::vector<float> out(count, -5.0F);
              group.all_reduce(in, out, larger ? ReduceOp::max : ReduceOp::min);
              EXPECT_TRUE(std::isnan(out[at])) << "from rank " << who;
              out[at] = 0;
              const float due = larger ? static_cast<float>(group.size()) : 1.0F;
              EXPECT_EQ(std::ranges::count(out, due), static_cast<std::ptrdiff_t>(count) - 1);
            }
          }
        }
      });
    }
  }
}

TEST(Acceptance, B15_AllGatherConcatenatesAlongAxisZero) {
  everywhere(3, [](const Group& group) {
    const std::int32_t base = 10 * group.rank();
    const Tensor in(std::vector<std::int32_t>{base, base + 1, base + 2, base + 3}, {2, 2});
    const Tensor due(std::vector<std::int32_t>{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}, {6, 2});
    EXPECT_TRUE(same(group.all_gather(in), due));
    EXPECT_TRUE(
        same(group.all_gather(Tensor::scalar<std::int32_t>(base)), Tensor::of<std::int32_t>({0, 10, 20})));
  });
  EXPECT_EQ(one().all_gather(Tensor::scalar(2.0F)).shape(), Shape{});
}

TEST(Acceptance, B16_AllToAllVIsCompactAndInOrder) {
  everywhere(2, [](const Group& group) {
    // Rank 0 keeps one row and sends two; rank 1 sends none and keeps one.
    const bool first = group.rank() == 0;
    const Tensor in = first ? Tensor(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}, {3, 2})
                            : Tensor(std::vector<std::int32_t>{7, 8}, {1, 2});
    const Counts send = first ? Counts{1, 2} : Counts{0, 1};
    const Counts recv = first ? Counts{1, 0} : Counts{2, 1};
    const Tensor due = first ? Tensor(std::vector<std::int32_t>{1, 2}, {1, 2})
                             : Tensor(std::vector<std::int32_t>{3, 4, 5, 6, 7, 8}, {3, 2});
    EXPECT_TRUE(same(group.all_to_all_v(in, send, recv), due));
  });
}

TEST(Acceptance, B17_ChecksOfAllToAllVInTheirOrder) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  everywhere(2, [](const Group& group) {
    const auto refuses = [&](std::string_view text, const Tensor& in, const Counts& send,
                             const Counts& recv) {
      expect_error(invalid, {text}, [&] { (void)group.all_to_all_v(in, send, recv); });
    };
    const Tensor rows(DType::int32, {3, 2});
    refuses("all_to_all_v input must have a leading row dimension", Tensor::scalar(1.0F), {1}, {1, 2, 3});
    refuses("all_to_all_v requires 2 send counts and receive counts, got 1 and 2", rows, {most},
            {most, most});
    refuses("all_to_all_v requires 2 send counts and receive counts, got 2 and 3", rows, {3, 0}, {1, 1, 1});
    refuses("all_to_all_v send count sum overflowed usize", rows, {most, 1}, {most, 1});
    refuses("all_to_all_v receive count sum overflowed usize", rows, {1, 1}, {most, 1});
    refuses("all_to_all_v send count sum 4 does not match input row count 3", rows, {2, 2}, {most / 2, 0});
    refuses("all_to_all_v output byte size overflowed usize", rows, {2, 1}, {most / 4, 0});
    const int other = 1 - group.rank();
    Counts recv(2, 0);
    recv[index_of(group.rank())] = 1;
    recv[index_of(other)] = 2;
    Counts send(2, 0);
    send[index_of(group.rank())] = 2;
    send[index_of(other)] = 1;
    refuses("all_to_all_v self send count 2 does not match self receive count 1", rows, send, recv);
    EXPECT_EQ(group.all_to_all_v(Tensor(DType::int32, {2, 2}), Counts{1, 1}, Counts{1, 1}).count(), 4U);
  });
  expect_error(invalid, {"all_to_all_v row byte size overflowed usize"}, [] {
    const Shape wide = {0, std::int64_t{1} << 40, std::int64_t{1} << 40};
    std::array<std::byte, 16> nothing{};
    const ConstView in(DType::complex128, nothing.data(), wide);
    const View out(DType::complex128, nothing.data(), wide);
    one().all_to_all_v(in, out, Counts{0}, Counts{0});
  });
  expect_error(invalid, {"all_to_all_v singleton send and receive counts must match"},
               [] { (void)one().all_to_all_v(Tensor(DType::int32, {2}), Counts{2}, Counts{1}); });
}

TEST(Acceptance, B18_CountsAreCheckedAcrossRanks) {
  everywhere(3, [](const Group& group) {
    // Rank 1 sends 4 rows to rank 2, which expects 6; all else agrees.
    Counts send(3, 1);
    Counts recv(3, 1);
    if (group.rank() == 1) send[2] = 4;
    if (group.rank() == 2) recv[1] = 6;
    const Tensor in(DType::float32, {std::accumulate(send.begin(), send.end(), std::int64_t{0}), 2});
    const auto error = error_of([&] { (void)group.all_to_all_v(in, send, recv); });
    if (group.rank() != 0 || error) {
      expect_is(error, ErrorKind::mismatch, {"rank 1 sends 4 rows to rank 2, which expects 6"});
    }
    expect_is(error_of([&] { group.barrier(); }), ErrorKind::mismatch, {"4", "6"});
    ASSERT_TRUE(group.failure().has_value());
    EXPECT_EQ(group.failure()->kind, ErrorKind::mismatch);
  });
}

TEST(Acceptance, B19_ZeroCountsAreLegalEverywhere) {
  for (const int size : {1, 3}) {
    everywhere(size, [](const Group& group) {
      const Counts none(index_of(group.size()), 0);
      const Tensor empty(DType::float32, {0, 4});
      EXPECT_TRUE(same(group.all_to_all_v(empty, none, none), empty));
      EXPECT_EQ(group.all_gather_v(empty, none).shape(), (Shape{0, 4}));
      EXPECT_EQ(group.all_gather(empty).shape(), (Shape{0, 4}));
      EXPECT_EQ(group.sum_scatter_v(empty, none).shape(), (Shape{0, 4}));
      EXPECT_EQ(group.sum_scatter(empty).shape(), (Shape{0, 4}));
      EXPECT_EQ(group.all_sum(empty).shape(), (Shape{0, 4}));
      EXPECT_EQ(group.all_to_all(empty).shape(), (Shape{0, 4}));
      EXPECT_EQ(group.broadcast(empty, 0).shape(), (Shape{0, 4}));
      const auto gathered = group.gather_v(empty, none, 0);
      EXPECT_EQ(gathered.has_value(), group.rank() == 0);
      Tensor part(DType::float32, {0, 4});
      group.scatter_v(empty, part.view(), none, 0);
    });
  }
}

TEST(Acceptance, B20_APlanIsExchangedOnceAndUsedOften) {
  everywhere(3, [](const Group& group) {
    Counts send(3);
    for (int to = 0; to < 3; ++to) send[index_of(to)] = index_of((group.rank() + 2 * to) % 4);
    const ExchangePlan plan = group.plan_all_to_all_v(send);
    for (int from = 0; from < 3; ++from)
      EXPECT_EQ(plan.recv_counts()[index_of(from)], index_of((from + 2 * group.rank()) % 4));
    const ExchangePlan back = plan.reverse();
    const auto rows = std::accumulate(send.begin(), send.end(), std::int64_t{0});
    for (int round = 0; round < 3; ++round) {
      const Tensor in = values(DType::int32, Shape{rows, 2}, group.rank(), Content::bits, index_of(round));
      EXPECT_TRUE(same(group.all_to_all_v(group.all_to_all_v(in, plan), back), in));
    }
    EXPECT_TRUE(std::ranges::equal(back.send_counts(), plan.recv_counts()));
    EXPECT_TRUE(std::ranges::equal(back.recv_counts(), plan.send_counts()));
  });
}

TEST(Acceptance, B21_SumScatter) {
  everywhere(2, [](const Group& group) {
    const std::int32_t mine = group.rank() + 1;
    const Tensor in(std::vector<std::int32_t>{mine, 2 * mine, 3 * mine, 4 * mine}, {4});
    EXPECT_TRUE(same(group.sum_scatter(in), group.rank() == 0 ? Tensor::of<std::int32_t>({3, 6})
                                                              : Tensor::of<std::int32_t>({9, 12})));
    expect_error(invalid, {"sum-scatter requires a non-scalar input"},
                 [&] { (void)group.sum_scatter(Tensor::scalar(1.0F)); });
    expect_error(invalid, {"sum-scatter input's first dimension (5) is not divisible by group size (2)"},
                 [&] {
                   (void)group.sum_scatter(Tensor(DType::float32, {5, 2}));
                 });
    EXPECT_TRUE(same(group.sum_scatter(Tensor(DType::float32, {2})), Tensor(DType::float32, {1})));
  });
  EXPECT_EQ(one().sum_scatter(Tensor::scalar(2.5F)).shape(), Shape{});
  EXPECT_EQ(one().sum_scatter(Tensor(DType::float32, {5})).count(), 5U);
}

TEST(Acceptance, B22_AGroupOfOneGivesTheInputBack) {
  for (const Group& group : {init(), one(), init(true, Backend::sim)}) {
    const Tensor in = values(DType::float32, Shape{4, 2}, 0, Content::special);
    const Counts all = {4};
    for (const Tensor& out :
         {group.all_sum(in), group.all_max(in), group.all_min(in), group.all_reduce(in, ReduceOp::mean),
          group.all_gather(in), group.all_gather_v(in, all), group.sum_scatter(in),
          group.sum_scatter_v(in, all), group.all_to_all(in), group.all_to_all_v(in, all, all),
          group.broadcast(in, 0), *group.reduce(in, ReduceOp::product, 0), *group.gather(in, 0),
          *group.gather_v(in, all, 0)}) {
      EXPECT_TRUE(same(out, in));
      EXPECT_TRUE(out.shares_memory_with(in)) << "a copy was made";
    }
    Tensor both = in.clone();
    group.all_sum(both.view());
    group.broadcast(both.view(), 0);
    EXPECT_TRUE(same(both, in));
    Tensor out(DType::float32, {4, 2});
    group.all_sum(in, out.view());
    EXPECT_TRUE(same(out, in));
    group.barrier();
    EXPECT_EQ(group.broadcast_bytes("abc", 0), "abc");
  }
}

TEST(Acceptance, B29_TheOtherCollectives) {
  everywhere(3, [](const Group& group) {
    const std::int32_t rank = group.rank();
    EXPECT_TRUE(
        same(group.broadcast(Tensor::of<std::int32_t>({rank, rank}), 2), Tensor::of<std::int32_t>({2, 2})));
    const auto reduced = group.reduce(Tensor::of<std::int32_t>({rank, 1}), ReduceOp::sum, 1);
    ASSERT_EQ(reduced.has_value(), rank == 1);
    if (reduced) {
      EXPECT_TRUE(same(*reduced, Tensor::of<std::int32_t>({3, 3})));
    }
    const auto gathered = group.gather(Tensor::of<std::int32_t>({rank + 5}), 2);
    ASSERT_EQ(gathered.has_value(), rank == 2);
    if (gathered) {
      EXPECT_TRUE(same(*gathered, Tensor::of<std::int32_t>({5, 6, 7})));
    }
    Tensor part(DType::int32, {1});
    group.scatter(Tensor::of<std::int32_t>({11, 12, 13}), part.view(), 0);
    EXPECT_TRUE(same(part, Tensor::of<std::int32_t>({11 + rank})));
    EXPECT_TRUE(same(group.all_to_all(Tensor::of<std::int32_t>({10 * rank, 10 * rank + 1, 10 * rank + 2})),
                     Tensor::of<std::int32_t>({rank, 10 + rank, 20 + rank})));
    const std::vector<std::uint8_t> bits = {static_cast<std::uint8_t>(1U << static_cast<unsigned>(rank)),
                                            0xF0};
    const Tensor in(bits, {2});
    EXPECT_TRUE(same(group.all_reduce(in, ReduceOp::bit_or), Tensor::of<std::uint8_t>({7, 0xF0})));
    EXPECT_TRUE(same(group.all_reduce(in, ReduceOp::bit_and), Tensor::of<std::uint8_t>({0, 0xF0})));
    EXPECT_TRUE(same(group.all_reduce(in, ReduceOp::bit_xor), Tensor::of<std::uint8_t>({7, 0xF0})));
    EXPECT_TRUE(same(group.all_reduce(in, ReduceOp::logical_and), Tensor::of<std::uint8_t>({1, 1})));
    const Tensor truth = Tensor::of<bool>({rank == 1, true, false});
    EXPECT_TRUE(same(group.all_reduce(truth, ReduceOp::logical_or), Tensor::of<bool>({true, true, false})));
    EXPECT_TRUE(same(group.all_reduce(truth, ReduceOp::logical_and), Tensor::of<bool>({false, true, false})));
    const Counts counts = {1, 0, 2};
    const Tensor mine(std::vector<std::int32_t>(counts[index_of(rank)], rank + 1),
                      {static_cast<std::int64_t>(counts[index_of(rank)])});
    EXPECT_TRUE(same(group.all_gather_v(mine, counts), Tensor::of<std::int32_t>({1, 3, 3})));
    const auto gathered_v = group.gather_v(mine, counts, 0);
    if (gathered_v) {
      EXPECT_TRUE(same(*gathered_v, Tensor::of<std::int32_t>({1, 3, 3})));
    }
    Tensor rows(DType::int32, {static_cast<std::int64_t>(counts[index_of(rank)])});
    group.scatter_v(Tensor::of<std::int32_t>({21, 22, 23}), rows.view(), counts, 1);
    const std::array<Tensor, 3> due = {Tensor::of<std::int32_t>({21}), Tensor(DType::int32, {0}),
                                       Tensor::of<std::int32_t>({22, 23})};
    EXPECT_TRUE(same(rows, due[index_of(rank)]));
    const std::array<Tensor, 3> sums = {Tensor::of<std::int32_t>({3}), Tensor(DType::int32, {0}),
                                        Tensor::of<std::int32_t>({6, 9})};
    EXPECT_TRUE(same(group.sum_scatter_v(Tensor::of<std::int32_t>({1, 2, 3}), counts), sums[index_of(rank)]));
    EXPECT_EQ(group.broadcast_bytes(rank == 1 ? std::string("one\0two", 7) : std::string(), 1),
              std::string("one\0two", 7));
    expect_error(invalid, {}, [&] { (void)group.broadcast(truth, 3); });
    expect_error(invalid, {}, [&] { (void)group.broadcast(truth, -1); });
    group.barrier();
  });
}

TEST(Acceptance, B29_ABarrierThatTimesOutNamesEveryMissingRank) {
  for (const char* name : {"run_arena", "run_wires"}) {
    for (const World& world : worlds()) {
      if (world.name != name) continue;
      world.run(5, [](const Group& group) {
        if (group.rank() == 1 || group.rank() == 3) {
          let_pass(group, 5s);
          return;
        }
        // The group may have failed by another rank's barrier: then its cause is told, which names them too.
        const auto error = error_of([&] { group.barrier({.timeout = 100ms}); });
        expect_is(error, ErrorKind::timed_out, {"barrier", "1", "3"});
        if (error) {
          const std::string text = error->what();
          const std::size_t at = text.find("missing");
          ASSERT_NE(at, std::string::npos) << text;
        }
      });
    }
  }
}

TEST(Acceptance, B30_WorkedExamplesOfAGroupOfOne) {
  for (const Group& group : {init(), one()}) {
    const Tensor in = Tensor::of<float>({1, 2});
    for (const Tensor& out : {group.all_sum(in), group.all_max(in), group.all_min(in), group.all_gather(in),
                              group.sum_scatter(in)}) {
      EXPECT_TRUE(same(out, Tensor::of<float>({1, 2})));
    }
    const Counts two = {2};
    std::optional<Tensor> square = Tensor(std::vector<std::int32_t>{1, 2, 3, 4}, {2, 2});
    const Tensor out = group.all_to_all_v(*square, two, two);
    square.reset();
    EXPECT_TRUE(same(out, Tensor(std::vector<std::int32_t>{1, 2, 3, 4}, {2, 2})));
    const Counts zero = {0};
    EXPECT_EQ(group.all_to_all_v(Tensor(DType::float32, {0, 3}), zero, zero).shape(), (Shape{0, 3}));
    const Counts none;
    const Counts single = {1};
    const Tensor rows(DType::int32, {2, 2});
    expect_error(invalid, {"all_to_all_v input must have a leading row dimension"},
                 [&] { (void)group.all_to_all_v(Tensor::scalar(1.0F), single, single); });
    expect_error(invalid, {"all_to_all_v requires 1 send counts and receive counts, got 0 and 1"},
                 [&] { (void)group.all_to_all_v(rows, none, two); });
    expect_error(invalid, {"all_to_all_v send count sum 1 does not match input row count 2"},
                 [&] { (void)group.all_to_all_v(rows, single, single); });
    expect_error(invalid, {"all_to_all_v singleton send and receive counts must match"},
                 [&] { (void)group.all_to_all_v(rows, two, single); });
  }
}

TEST(Acceptance, B31_AllToAllVOnFourRanks) {
  const std::vector<Counts> matrix = {{1, 2, 1, 0}, {1, 0, 0, 2}, {0, 0, 0, 0}, {1, 1, 0, 1}};
  for (const World& world : worlds()) {
    world.run(4, [&](const Group& group) {
      const Counts& send = matrix[index_of(group.rank())];
      std::vector<Tensor> inputs;
      for (int rank = 0; rank < 4; ++rank) {
        const auto& line = matrix[index_of(rank)];
        inputs.push_back(values(DType::float32,
                                Shape{std::accumulate(line.begin(), line.end(), std::int64_t{0}), 3}, rank));
      }
      const ExchangePlan plan = group.plan_all_to_all_v(send);
      const Tensor due = reference_exchange(inputs, group.rank(), matrix);
      for (int turn = 0; turn < 2; ++turn)
        EXPECT_TRUE(same(group.all_to_all_v(inputs[index_of(group.rank())], plan), due));
      const Counts none(4, 0);
      EXPECT_EQ(group.all_to_all_v(Tensor(DType::float32, {0, 3}), none, none).shape(), (Shape{0, 3}));
    });
  }
}

}  // namespace
}  // namespace rondo::test
