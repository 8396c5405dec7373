#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "bench/bench.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"

namespace rondo::tools::bench {
namespace {

TEST(BenchFormulas, BusBandwidth) {
  // By hand, for 4 ranks.
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::reduce, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::sendrecv, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(BenchVerb::all_reduce, 1), 0);

  Row row;
  row.bytes = 16'000'000;
  row.timing.median = 0.004;
  set_bandwidths(row, BenchVerb::all_reduce, 4);
  EXPECT_DOUBLE_EQ(row.algbw, 4e9);
  EXPECT_DOUBLE_EQ(row.busbw, 6e9);
}

TEST(BenchFormulas, CountsAndSizes) {
  EXPECT_EQ(count_for(BenchVerb::all_reduce, 4096, DType::float32, 3), 1024U);
  EXPECT_EQ(count_for(BenchVerb::all_gather, 4096, DType::float32, 3), 341U);  // 4092 bytes of three parts
  EXPECT_EQ(bytes_for(BenchVerb::all_gather, 341, DType::float32, 3), 4092U);
  EXPECT_EQ(count_for(BenchVerb::all_to_all, 4, DType::float64, 3), 1U);
  EXPECT_EQ(bytes_for(BenchVerb::all_to_all, 1, DType::float64, 3), 24U);
  EXPECT_EQ(count_for(BenchVerb::barrier, 4096, DType::float32, 3), 0U);

  BenchOptions options;
  options.least_bytes = 4;
  options.most_bytes = 64;
  options.factor = 2;
  EXPECT_EQ(counts_of_sweep(options, BenchVerb::all_reduce, 2), (std::vector<std::size_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(counts_of_sweep(options, BenchVerb::all_gather, 4), (std::vector<std::size_t>{1, 2, 4}));
  EXPECT_EQ(counts_of_sweep(options, BenchVerb::barrier, 2), (std::vector<std::size_t>{0}));
  options.factor = 3;
  EXPECT_EQ(counts_of_sweep(options, BenchVerb::all_reduce, 2), (std::vector<std::size_t>{1, 3, 9}));
  options.least_bytes = std::size_t{1} << 40;
  options.most_bytes.reset();
  EXPECT_EQ(counts_of_sweep(options, BenchVerb::all_reduce, 2).size(), 1U);
}

TEST(BenchFormulas, Statistics) {
  const Timing odd = summary({3, 1, 2});
  EXPECT_DOUBLE_EQ(odd.min, 1);
  EXPECT_DOUBLE_EQ(odd.median, 2);
  EXPECT_DOUBLE_EQ(odd.p99, 3);
  std::vector<double> hundred;
  for (int i = 200; i > 0; --i) hundred.push_back(i);
  const Timing many = summary(hundred);
  EXPECT_DOUBLE_EQ(many.median, 100.5);
  EXPECT_DOUBLE_EQ(many.p99, 198);
  EXPECT_EQ(many.samples, 200U);
  EXPECT_DOUBLE_EQ(summary({7}).p99, 7);
}

TEST(BenchFormulas, Plans) {
  Effort effort;
  effort.seconds = 0.2;
  EXPECT_EQ(plan_for(1.5e-6, effort).batch, 14U);
  EXPECT_EQ(plan_for(1.5e-6, effort).samples, 5000U);
  EXPECT_EQ(plan_for(1e-3, effort).batch, 1U);
  EXPECT_EQ(plan_for(1e-3, effort).samples, 200U);
  EXPECT_EQ(plan_for(10, effort).samples, 10U);
  effort.samples = 3;
  effort.batch = 7;
  EXPECT_EQ(plan_for(1e-6, effort).samples, 3U);
  EXPECT_EQ(plan_for(1e-6, effort).batch, 7U);
  effort.mode = Mode::fenced;
  EXPECT_EQ(plan_for(1e-6, effort).batch, 1U);
}

TEST(BenchOptions, Sizes) {
  EXPECT_EQ(parse_size("4"), 4U);
  EXPECT_EQ(parse_size("64K"), 65536U);
  EXPECT_EQ(parse_size("16M"), 16U << 20);
  EXPECT_EQ(parse_size("16MiB"), 16U << 20);
  EXPECT_EQ(parse_size("1024G"), std::size_t{1} << 40);
  for (const char* bad : {"", "0", "-4", "4k", "K", "1.5M", "4 ", "1025G", "99999999999999999999"})
    EXPECT_FALSE(parse_size(bad).has_value()) << bad;
}

/// The parsed options, or why not.
std::string parse(std::vector<std::string> words, BenchOptions& options) {
  CLI::App app;
  (void)add_bench(app, options);
  words.insert(words.begin(), "bench");
  std::ranges::reverse(words);
  try {
    app.parse(std::move(words));
    return {};
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
}

TEST(BenchOptions, AreUnderstood) {
  BenchOptions options;
  EXPECT_EQ(parse({"all_sum", "latency",  "-b", "8",        "-e",      "1K",        "-f",
                   "2",       "-n",       "5",  "-m",       "6",       "-w",        "7",
                   "-d",      "bfloat16", "-r", "1",        "--place", "in",        "--memory",
                   "shared",  "--check",  "0",  "--fenced", "--csv",   "--seconds", "1.5"},
                  options),
            "");
  EXPECT_EQ(options.tests, (std::vector<std::string>{"all_sum", "latency"}));
  EXPECT_EQ(options.least_bytes, 8U);
  EXPECT_EQ(options.most_bytes, 1024U);
  EXPECT_EQ(options.factor, 2U);
  EXPECT_EQ(options.effort.samples, 5U);
  EXPECT_EQ(options.effort.batch, 6U);
  EXPECT_EQ(options.effort.warm_up, 7);
  EXPECT_EQ(options.effort.mode, Mode::fenced);
  EXPECT_DOUBLE_EQ(options.effort.seconds, 1.5);
  EXPECT_EQ(options.dtype, DType::bfloat16);
  EXPECT_EQ(options.root, 1);
  EXPECT_EQ(options.placement, Placement::in);
  EXPECT_TRUE(options.shared_memory);
  EXPECT_FALSE(options.check);
  EXPECT_EQ(options.format, Format::csv);
}

TEST(BenchOptions, BadValuesAreNamed) {
  const auto why = [](std::vector<std::string> words) {
    BenchOptions options;
    return parse(std::move(words), options);
  };
  EXPECT_EQ(why({"-b", "4k"}),
            "--min-bytes: expected a size from 1 to 1024G such as 4, 64K, 16M or 1GiB, got \"4k\"");
  EXPECT_EQ(why({"--memory", "heap"}), "--memory: expected own or shared, got \"heap\"");
  EXPECT_NE(why({"-f", "1"}).find("expected a whole number from 2 to 1024, got \"1\""), std::string::npos);
  EXPECT_NE(why({"-d", "float"}).find("expected one of bool, int8"), std::string::npos);
  EXPECT_NE(why({"--op", "plus"}).find("expected one of sum, product"), std::string::npos);
  EXPECT_NE(why({"--check", "2"}).find("expected 0 or 1, got \"2\""), std::string::npos);
}

std::string refusal(const BenchOptions& options, int ranks) {
  try {
    (void)choose_tests(options, ranks);
    return {};
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(BenchOptions, WhatDoesNotFitTogetherIsRefused) {
  BenchOptions options;
  EXPECT_NE(refusal(options, 2).find("no test given"), std::string::npos);
  options.tests = {"all_sums"};
  EXPECT_EQ(refusal(options, 2).find("unknown test \"all_sums\", expected one of floor, all, all_sum"), 0U);
  options.tests = {"latency"};
  EXPECT_EQ(refusal(options, 1), "latency needs 2 ranks, there is 1");
  options.tests = {"all_sum"};
  options.op = ReduceOp::max;
  EXPECT_EQ(refusal(options, 2), "all_sum is a sum, but --op says max");
  options.tests = {"all_reduce"};
  options.dtype = DType::float8_e4m3;
  EXPECT_EQ(refusal(options, 2), "all_reduce: max is not defined on float8_e4m3");
  options.tests = {"broadcast"};
  options.root = 2;
  EXPECT_EQ(refusal(options, 2), "--root 2: expected a rank from 0 to 1");
  options.root = 0;
  options.placement = Placement::out;
  EXPECT_EQ(refusal(options, 2), "--place out: broadcast is always in place");
  options.most_bytes = 2;
  EXPECT_EQ(refusal(options, 2), "-e 2 is less than -b 4");
}

TEST(BenchOptions, AllLeavesOutWhatCannotBe) {
  BenchOptions options;
  options.tests = {"all"};
  EXPECT_EQ(choose_tests(options, 2).size(), all_verbs().size());
  EXPECT_EQ(choose_tests(options, 1).size(), all_verbs().size() - 3);
  options.dtype = DType::float8_e5m2;
  EXPECT_EQ(choose_tests(options, 2).size(), all_verbs().size() - 3);
}

TEST(BenchRank, EndsEarlyWithWhatThereIs) {
  BenchOptions options;
  options.tests = {"all_sum"};
  options.most_bytes = 1024;
  options.format = Format::json;
  options.effort.samples = 5;
  options.effort.batch = 1;
  std::ostringstream out;
  EXPECT_EQ(bench_rank(sim_group(1).front(), options, &out, [] { return true; }), 130);
  const auto document = nlohmann::json::parse(out.str());
  EXPECT_TRUE(document["interrupted"]);
  ASSERT_EQ(document["rows"].size(), 1U);
  EXPECT_EQ(document["rows"][0]["wrong"], 0);
}

}  // namespace
}  // namespace rondo::tools::bench
