#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "bench/bench.hpp"
#include "bench/contenders.hpp"
#include "bench/report.hpp"
#include "rondo/rondo.hpp"

namespace rondo::tools::bench {
namespace {

template <class Body>
void on_threads(int ranks, const Body& body) {
  std::vector<std::thread> threads;
  for (Group& each : sim_group(ranks))
    threads.emplace_back([&body, group = std::move(each)] { body(group); });
  for (std::thread& each : threads) each.join();
}

TEST(BenchTurns, CallsAreInterleaved) {
  const Group group = sim_group(1).front();
  std::string order;
  const std::vector<std::function<void()>> calls = {[&] { order += 'a'; }, [&] { order += 'b'; },
                                                    [&] { order += 'c'; }};
  Effort effort;
  effort.warm_up = 0;
  effort.batch = 1;
  effort.samples = 40;
  effort.seconds = 0.04;  // a turn is 4 ms, four samples of what is thought to be 1 ms each
  const std::vector<Timing> timings = measure(group, calls, effort, [] { return false; });
  ASSERT_EQ(timings.size(), 3U);
  for (const Timing& each : timings) {
    EXPECT_EQ(each.samples, 40U);
    EXPECT_EQ(each.rank_medians.size(), 1U);
    EXPECT_FALSE(each.stopped);
  }
  std::string expected;
  for (int turn = 0; turn < 10; ++turn) expected += "aaaaabbbbbccccc";  // one of five is not counted
  EXPECT_EQ(order, expected);
}

TEST(BenchTurns, OneCallAloneIsMadeAsOftenAsItIsCounted) {
  const Group group = sim_group(1).front();
  int made = 0;
  const std::vector<std::function<void()>> calls = {[&] { ++made; }};
  Effort effort;
  effort.warm_up = 2;
  effort.batch = 3;
  effort.samples = 7;
  EXPECT_EQ(measure(group, calls, effort, [] { return false; }).front().samples, 7U);
  EXPECT_EQ(made, 2 + 3 * 7);
}

TEST(BenchTurns, StoppingEndsAllAfterATurn) {
  const Group group = sim_group(1).front();
  const std::vector<std::function<void()>> calls = {[] {}, [] {}};
  Effort effort;
  effort.batch = 1;
  effort.samples = 1000;
  effort.seconds = 0.1;
  for (const Timing& each : measure(group, calls, effort, [] { return true; })) {
    EXPECT_TRUE(each.stopped);
    EXPECT_EQ(each.samples, 10U);
  }
}

TEST(BenchTurns, TheSlowestRankIsNamed) {
  on_threads(3, [](const Group& group) {
    const std::vector<std::function<void()>> calls = {[&] {
      if (group.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }};
    Effort effort;
    effort.samples = 5;
    effort.batch = 1;
    const Timing timing = measure(group, calls, effort, [] { return false; }).front();
    EXPECT_EQ(timing.slowest(), 1);
    ASSERT_EQ(timing.rank_medians.size(), 3U);
    EXPECT_GE(timing.rank_medians[1], 2e-3);
    EXPECT_GE(timing.median, 2e-3);
  });
}

TEST(BenchTurns, NamesAreDistinct) {
  EXPECT_EQ(distinct_names({Backend::shm, Backend::tcp, Backend::shm, Backend::shm}),
            (std::vector<std::string>{"shm", "tcp", "shm#2", "shm#3"}));
}

TEST(BenchTurns, BytesOfAnyLengthAreExchanged) {
  on_threads(3, [](const Group& group) {
    const std::vector<std::string> expected = {"", std::string("a\0b", 3), std::string(700, 'c')};
    EXPECT_EQ(exchange_over(group, expected[static_cast<std::size_t>(group.rank())]), expected);
  });
}

TEST(BenchTurns, WithoutBackendsTheGroupItselfIsMeasured) {
  on_threads(2, [](const Group& group) {
    const Field field = make_field(group, BenchOptions());
    ASSERT_EQ(field.contenders.size(), 1U);
    EXPECT_EQ(field.contenders.front().name, "sim");
  });
}

Row some_row() {
  Row row;
  row.test = "all_sum";
  row.bytes = 1024;
  row.count = 256;
  row.op = ReduceOp::sum;
  row.timing = {
      .min = 1e-6, .median = 2e-6, .p99 = 3e-6, .samples = 5, .batch = 7, .rank_medians = {1e-6, 4e-6}};
  row.wrong = 0;
  row.backend = "tcp";
  row.ratio = 4;
  row.floor = 0.5e-6;
  return row;
}

std::string printed(Format format, Columns columns, const Row& row) {
  std::ostringstream out;
  const auto report = make_report(format, columns, out);
  report->begin({{"fact", "value"}});
  report->row(row);
  Ending ending;
  ending.trip = 62e-9;
  report->end(ending);
  return out.str();
}

TEST(BenchReport, ColumnsAppearWhereTheySaySomething) {
  const std::string bare = printed(Format::table, {}, some_row());
  EXPECT_EQ(bare.find("xfloor"), std::string::npos);
  EXPECT_EQ(bare.find("ratio"), std::string::npos);
  EXPECT_NE(bare.find("\n# cores at the end: near: 62 ns\n"), std::string::npos);
  const std::string full = printed(Format::table, {true, true}, some_row());
  EXPECT_NE(full.find("floor(us)  xfloor  backend   ratio\n"), std::string::npos);
  EXPECT_NE(full.find(" 1       0       0.500    4.00      tcp   4.000\n"), std::string::npos) << full;
  Row without = some_row();
  without.floor.reset();
  without.ratio.reset();
  EXPECT_NE(printed(Format::table, {true, true}, without).find(" -       -      tcp       1\n"),
            std::string::npos);
}

TEST(BenchReport, CsvHasAllColumnsAlways) {
  const std::string csv = printed(Format::csv, {}, some_row());
  EXPECT_NE(csv.find("\nall_sum,1024,256,float32,sum,-,out,1.0000,2.0000,3.0000,0.000000,0.000000,0,5,7,1,"
                     "0.5000,tcp,4.0000\n"),
            std::string::npos)
      << csv;
}

}  // namespace
}  // namespace rondo::tools::bench
