#include "bench/exact.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "bench/workload.hpp"
#include "rondo/rondo.hpp"

namespace rondo::tools::bench {
namespace {

/// `body(group)` on every rank of a group of threads.
template <class Body>
void on_threads(int ranks, const Body& body) {
  std::vector<std::thread> threads;
  for (Group& each : sim_group(ranks))
    threads.emplace_back([&body, group = std::move(each)] { body(group); });
  for (std::thread& each : threads) each.join();
}

constexpr std::size_t count = 37;

TEST(BenchExact, InputsDifferByRankAndPosition) {
  const Reduction sum{ReduceOp::sum, 3};
  std::vector<float> a(1000), b(1000), shifted(1000);
  fill_contribution(a, sum, 0, 0);
  fill_contribution(b, sum, 1, 0);
  fill_contribution(shifted, sum, 0, 1);
  EXPECT_GT(count_wrong(a, b), 900U);
  EXPECT_GT(count_wrong(a, shifted), 900U);
  EXPECT_TRUE(std::equal(a.begin() + 1, a.end(), shifted.begin()));
  std::vector<std::int64_t> here(1000), there(1000);
  fill_moved(here, 0, 0);
  fill_moved(there, 1, 0);
  EXPECT_EQ(count_wrong(here, there), 1000U);
}

TEST(BenchExact, ReducedIsWhatTheContributionsGive) {
  const Reduction sum{ReduceOp::sum, 3};
  std::vector<float> total(count, 0.0F), each(count), expected(count);
  for (int rank = 0; rank < 3; ++rank) {
    fill_contribution(each, sum, rank, 5);
    for (std::size_t i = 0; i < count; ++i) total[i] += each[i];
  }
  fill_reduced(expected, sum, 5);
  EXPECT_EQ(total, expected);
}

TEST(BenchExact, EveryMistakeIsCounted) {
  std::vector<std::int32_t> good(count);
  fill_reduced(good, {ReduceOp::sum, 2}, 0);
  std::vector<std::int32_t> bad = good;
  EXPECT_EQ(count_wrong(bad, good), 0U);
  bad.front() ^= 1;
  bad.back() ^= 1 << 30;
  EXPECT_EQ(count_wrong(bad, good), 2U);
  fill_poison(bad);
  EXPECT_EQ(count_wrong(bad, good), count);
}

TEST(BenchWorkload, EveryTypeAndReductionIsExact) {
  on_threads(3, [](const Group& group) {
    for (int t = 0; t < dtype_count; ++t)
      for (int o = 0; o < reduce_op_count; ++o) {
        const auto dtype = static_cast<DType>(t);
        const auto op = static_cast<ReduceOp>(o);
        if (!supported(op, dtype)) continue;
        Workload work(group, {BenchVerb::all_reduce, dtype, op, 0, count, false});
        work.prepare();
        work.call();
        EXPECT_EQ(work.wrong(), 0U) << to_string(dtype) << " " << to_string(op);
      }
  });
}

/// Every case of every test in a group of `ranks`, of a type that has a sum.
template <class Body>
void for_every_case(int ranks, DType dtype, const Body& body) {
  for (const VerbInfo& info : all_verbs()) {
    if (ranks < info.least_ranks || info.verb == BenchVerb::barrier) continue;
    const int root = info.rooted ? ranks - 1 : 0;
    if (info.out_of_place) body(Case{info.verb, dtype, ReduceOp::sum, root, count, false});
    if (info.in_place) body(Case{info.verb, dtype, ReduceOp::sum, root, count, true});
  }
}

TEST(BenchWorkload, EveryCallIsRightAndAPlantedErrorIsCounted) {
  for (const int ranks : {1, 2, 3, 4})
    on_threads(ranks, [ranks](const Group& group) {
      for_every_case(ranks, DType::float32, [&](const Case& what) {
        Workload work(group, what);
        work.prepare();
        work.call();
        EXPECT_EQ(work.wrong(), 0U) << info_of(what.verb).name << " of " << ranks;
        const View result = work.result();
        if (result.count() == 0) return;
        result.data()[result.bytes() - 1] ^= std::byte{1};
        EXPECT_EQ(work.wrong(), 1U) << info_of(what.verb).name << " of " << ranks;
      });
    });
}

TEST(BenchWorkload, ACallThatDoesNothingIsWrong) {
  on_threads(2, [](const Group& group) {
    for_every_case(2, DType::int32, [&](const Case& what) {
      Workload work(group, what);
      work.prepare();
      // The root has its own part from the start.
      const bool from_root = what.verb == BenchVerb::broadcast || what.verb == BenchVerb::scatter;
      if (from_root && what.in_place && group.rank() == what.root) return;
      EXPECT_GE(work.wrong() * 2, work.result().count()) << info_of(what.verb).name;
    });
  });
}

TEST(BenchWorkload, OperationsOfACall) {
  on_threads(2, [](const Group& group) {
    const auto operations = [&](BenchVerb verb, std::size_t elements) {
      return Workload(group, {verb, DType::uint8, ReduceOp::sum, 0, elements, false}).operations();
    };
    EXPECT_EQ(operations(BenchVerb::all_reduce, 8), 1U);
    EXPECT_EQ(operations(BenchVerb::latency, 8), 2U);
    EXPECT_EQ(operations(BenchVerb::bandwidth, 8), 64U);
    EXPECT_EQ(operations(BenchVerb::bandwidth, std::size_t{16} << 20), 4U);
  });
}

}  // namespace
}  // namespace rondo::tools::bench
