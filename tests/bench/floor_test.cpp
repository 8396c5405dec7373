#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "bench/floor_model.hpp"
#include "bench/floor_report.hpp"

namespace rondo::tools::bench {
namespace {

TEST(BenchCurve, IsStraightOnLogarithmicAxes) {
  Curve curve;
  curve.add(100, 2e-6);
  curve.add(10000, 8e-6);
  EXPECT_DOUBLE_EQ(curve.at(100), 2e-6);
  EXPECT_NEAR(curve.at(1000), 4e-6, 1e-18);
  EXPECT_DOUBLE_EQ(curve.at(10000), 8e-6);
  EXPECT_DOUBLE_EQ(curve.at(4), 2e-6);       // the fixed cost
  EXPECT_DOUBLE_EQ(curve.at(30000), 24e-6);  // the last rate
  EXPECT_DOUBLE_EQ(curve.rate(4), 100 / 2e-6);
  EXPECT_DOUBLE_EQ(curve.rate(1e9), 10000 / 8e-6);
  ASSERT_NE(curve.find(10000), nullptr);
  EXPECT_EQ(curve.find(1000), nullptr);
}

/// Rates that are the same at every size: copies at 10 GB/s on one core and 8 on each of two, additions at 5
/// and 4.
Floors simple_floors() {
  Floors floors;
  floors.cores = 2;
  floors.trip = 60e-9;
  const auto at_rate = [](Curve& curve, double rate) {
    for (const std::size_t bytes : {4096, 16384, 1048576})
      curve.add(bytes, static_cast<double>(bytes) / rate);
  };
  at_rate(floors.copy_one, 10e9);
  at_rate(floors.copy_all, 8e9);
  at_rate(floors.add_one, 5e9);
  at_rate(floors.add_all, 4e9);
  floors.tcp.trip.polled = 3e-6;
  floors.tcp.streams = {{"reno", 6e9}, {"bbr", 2e9}};
  floors.tcp.exchange.add(4, 3.5e-6);
  floors.tcp.exchange.add(1000000, 1000000 / 2e9);
  return floors;
}

double shm(const FloorCall& call) { return floor_of(simple_floors(), Backend::shm, call).value_or(-1); }
double tcp(const FloorCall& call) { return floor_of(simple_floors(), Backend::tcp, call).value_or(-1); }

TEST(BenchFloor, SharedMemoryByHand) {
  constexpr double trip = 60e-9;
  EXPECT_DOUBLE_EQ(shm({BenchVerb::barrier, 0, 2}), trip);
  EXPECT_NEAR(shm({BenchVerb::all_reduce, 4, 2}), trip, 1e-9);
  // Half of it is added, the other half copied.
  EXPECT_DOUBLE_EQ(shm({BenchVerb::all_reduce, 16384, 2}), trip + 8192 / 4e9 + 8192 / 8e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::reduce_scatter, 16384, 2}), trip + 8192 / 4e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::all_gather, 16384, 2}), trip + 16384 / 8e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::all_gather, 16384, 2, true}), trip + 8192 / 8e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::sendrecv, 16384, 2}), trip + 16384 / 8e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::latency, 16384, 2}), trip + 16384 / 10e9);
  // Four ranks on two cores take turns.
  EXPECT_DOUBLE_EQ(shm({BenchVerb::all_to_all, 16384, 4}), trip + 2 * 16384 / 8e9);
  EXPECT_DOUBLE_EQ(floor_of(simple_floors(), Backend::sim, {BenchVerb::barrier, 0, 2}).value_or(0), trip);
}

TEST(BenchFloor, CallsThatOverlapPayNoTrip) {
  EXPECT_DOUBLE_EQ(shm({BenchVerb::broadcast, 16384, 2}), 16384 / 10e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::broadcast, 16384, 2, true, true}), 60e-9 + 16384 / 10e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::scatter, 16384, 2}), 8192 / 10e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::gather, 16384, 2, true}), 8192 / 10e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::reduce, 16384, 2}), 8192 / 4e9 + 8192 / 10e9);
  EXPECT_DOUBLE_EQ(shm({BenchVerb::broadcast, 1024, 2}), -1);
}

TEST(BenchFloor, TcpByHand) {
  EXPECT_DOUBLE_EQ(tcp({BenchVerb::all_reduce, 4, 2}), 3.5e-6);
  EXPECT_DOUBLE_EQ(tcp({BenchVerb::all_reduce, 2000000, 2}), 2000000 / 2e9);
  EXPECT_DOUBLE_EQ(tcp({BenchVerb::all_gather, 4000000, 2}), 2000000 / 2e9);
  EXPECT_DOUBLE_EQ(tcp({BenchVerb::all_gather, 4000000, 4}), 2 * 3000000 / 2e9);
  EXPECT_DOUBLE_EQ(tcp({BenchVerb::barrier, 0, 2}), 3e-6);
  EXPECT_DOUBLE_EQ(tcp({BenchVerb::latency, 6000, 2}), 3e-6 + 6000 / 6e9);
  EXPECT_DOUBLE_EQ(tcp({BenchVerb::bandwidth, 6000, 2}), 6000 / 6e9);
}

TEST(BenchFloor, NoneWhereThereIsNoModel) {
  const Floors floors = simple_floors();
  EXPECT_FALSE(floor_of(floors, Backend::shm, {BenchVerb::all_reduce, 16384, 1}).has_value());
  EXPECT_FALSE(floor_of(floors, Backend::mpi, {BenchVerb::all_reduce, 16384, 2}).has_value());
  EXPECT_FALSE(floor_of(Floors(), Backend::shm, {BenchVerb::all_reduce, 16384, 2}).has_value());
  EXPECT_FALSE(floor_of(Floors(), Backend::tcp, {BenchVerb::all_reduce, 16384, 2}).has_value());
}

TEST(BenchFloor, CoresAreNearOrFar) {
  EXPECT_EQ(trip_text(62.4e-9), "near: 62 ns");
  EXPECT_EQ(trip_text(100e-9), "far: 100 ns");
  EXPECT_EQ(trip_text(std::nullopt), "one core only, so no trip between cores");
}

std::string printed(Format format) {
  BenchOptions options;
  options.format = format;
  std::ostringstream out;
  print_floors(simple_floors(), options, false, out);
  return out.str();
}

TEST(BenchFloor, EveryFormatHasTheFigures) {
  const auto document = nlohmann::json::parse(printed(Format::json));
  EXPECT_EQ(document["header"]["cores"], "near: 60 ns");
  EXPECT_DOUBLE_EQ(document["us"]["cross_core_trip"], 0.06);
  EXPECT_TRUE(document["us"]["unix_polled"].is_null());
  EXPECT_DOUBLE_EQ(document["streams_GBps"]["tcp (reno)"], 6);
  const auto& both = document["curves"]["add_all_cores"][2];
  EXPECT_EQ(both["size"], 1048576);
  EXPECT_DOUBLE_EQ(both["us"], 1048576 / 4e3);
  EXPECT_DOUBLE_EQ(both["GBps"], 8);  // of two cores
  EXPECT_FALSE(document["curves"].contains("process_vm_readv"));

  const std::string csv = printed(Format::csv);
  EXPECT_NE(csv.find("\nwhat,size,us,GBps\n"), std::string::npos);
  EXPECT_NE(csv.find("\ncross_core_trip,,0.0600,\n"), std::string::npos);
  EXPECT_NE(csv.find("\nadd_all_cores,4096,1.0240,8.0000\n"), std::string::npos);
  const std::string table = printed(Format::table);
  EXPECT_NE(table.find("\ncross-core trip "), std::string::npos);
  EXPECT_NE(table.find("\n     1048576 "), std::string::npos);
}

TEST(BenchFloor, IsMeasured) {
  FloorPlan plan;
  plan.sizes = {64, 4096};
  plan.seconds = 1e-4;
  const Floors floors = measure_floors(plan, [] { return false; });
  EXPECT_GT(floors.clock, 0);
  EXPECT_GT(floors.system_call, 0);
  EXPECT_EQ(floors.copy_one.points().size(), 2U);
  EXPECT_EQ(floors.add_all.points().size(), 2U);
  EXPECT_EQ(floors.trip.has_value(), floors.cores > 1);
  EXPECT_EQ(floors.tcp.exchange.points().size(), floors.cores > 1 ? 2U : 0U);
  EXPECT_EQ(floors.local.exchange.points().size(), floors.cores > 1 ? 2U : 0U);
  if (floors.cores > 1) {
    EXPECT_GT(*floors.tcp.trip.polled, *floors.trip);
  }
}

TEST(BenchFloor, StandsAlone) {
  BenchOptions options;
  options.tests = {"floor", "all_sum"};
  std::ostringstream out;
  const auto never = [] { return false; };
  EXPECT_THROW((void)bench_floor(options, out, never), std::invalid_argument);
  options.tests = {"floor"};
  options.most_bytes = 2;
  EXPECT_THROW((void)bench_floor(options, out, never), std::invalid_argument);
  EXPECT_EQ(out.str(), "");
}

TEST(BenchFloor, EndsEarlyWithWhatThereIs) {
  BenchOptions options;
  options.tests = {"floor"};
  options.format = Format::json;
  std::ostringstream out;
  EXPECT_EQ(bench_floor(options, out, [] { return true; }), 130);
  EXPECT_TRUE(nlohmann::json::parse(out.str())["interrupted"]);
}

}  // namespace
}  // namespace rondo::tools::bench
