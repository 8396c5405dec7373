#include "rondo/config.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "base/config_parse.hpp"

namespace {

using namespace std::chrono_literals;
using rondo::Backend;
using rondo::Config;
using rondo::Duration;
using Variables = std::map<std::string, std::string>;

Config parse(const Variables& variables) {
  return rondo::base::parse_config([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

/// What to_string printed, as variables.
Variables variables_of(const Config& config) {
  Variables variables;
  std::istringstream lines(to_string(config));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    EXPECT_NE(equals, std::string::npos) << line;
    variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return variables;
}

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const rondo::Error& error) {
    EXPECT_EQ(error.kind(), rondo::ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(const char* name, const std::string& value) {
  return refusal([&] { (void)parse({{name, value}}); });
}

TEST(Config, nothing_set_gives_the_defaults) {
  EXPECT_EQ(parse({}), Config());
  EXPECT_EQ(Config().timeout, 60s);
  EXPECT_FALSE(Config().rank.has_value());
}

TEST(Config, every_variable_reaches_its_field) {
  const Config config = parse({{"RONDO_BACKEND", "shm"},
                               {"RONDO_RANK", "3"},
                               {"RONDO_SIZE", "8"},
                               {"RONDO_RENDEZVOUS", "host:4000"},
                               {"RONDO_HOSTFILE", "/etc/ring.json"},
                               {"RONDO_RING_WIRE", "mlx"},
                               {"RONDO_TIMEOUT", "2min"},
                               {"RONDO_INIT_TIMEOUT", "1.25"},
                               {"RONDO_CHECK", "payload,agreement"},
                               {"RONDO_EAGER_BYTES", "5000"},
                               {"RONDO_CREDIT_BYTES", "3MiB"},
                               {"RONDO_ARENA_BYTES", "0"},
                               {"RONDO_SINGLE_COPY_BYTES", "9KiB"},
                               {"RONDO_TUNING", "tables/here.json"},
                               {"RONDO_LOG", "off"}});
  Config expected;
  expected.backend = Backend::shm;
  expected.rank = 3;
  expected.size = 8;
  expected.rendezvous = "host:4000";
  expected.hostfile = "/etc/ring.json";
  expected.ring_wire = rondo::RingWire::mlx;
  expected.timeout = 120s;
  expected.init_timeout = 1250ms;
  expected.check_agreement = true;
  expected.check_payload = true;
  expected.eager_bytes = 5000;
  expected.credit_bytes = std::size_t{3} << 20;
  expected.arena_bytes = 0;
  expected.single_copy_bytes = 9 * 1024;
  expected.tuning = "tables/here.json";
  expected.log = false;
  EXPECT_EQ(config, expected);
}

TEST(Config, variables_of_others_are_not_looked_at) {
  EXPECT_EQ(parse({{"RONDO_RANKS", "x"}, {"RANK", "5"}, {"rondo_rank", "5"}}), Config());
}

TEST(Config, names_of_mlx_count_where_rondo_has_said_nothing) {
  const Config mlx = parse({{"MLX_RANK", "2"}, {"MLX_HOSTFILE", "/a"}});
  EXPECT_EQ(mlx.rank, 2);
  EXPECT_EQ(mlx.hostfile, "/a");
  const Config both =
      parse({{"MLX_RANK", "x"}, {"RONDO_RANK", "1"}, {"MLX_HOSTFILE", "/a"}, {"RONDO_HOSTFILE", "/b"}});
  EXPECT_EQ(both.rank, 1);
  EXPECT_EQ(both.hostfile, "/b");
  EXPECT_EQ(refusal_of("MLX_RANK", "-1"), "MLX_RANK=\"-1\": expected a whole number from 0 to 2147483647");
  EXPECT_EQ(refusal_of("RONDO_RING_WIRE", "MLX"), "RONDO_RING_WIRE=\"MLX\": expected rondo or mlx");
}

TEST(Config, times_are_exact) {
  const auto time = [](const char* text) { return parse({{"RONDO_TIMEOUT", text}}).timeout; };
  EXPECT_EQ(time("7"), 7s);
  EXPECT_EQ(time("7s"), 7s);
  EXPECT_EQ(time("250ms"), 250ms);
  EXPECT_EQ(time("0.5min"), 30s);
  EXPECT_EQ(time("1.5ms"), 1500us);
  EXPECT_EQ(time("0.000000001"), 1ns);
  EXPECT_EQ(time("3.140000007s"), 3'140'000'007ns);
  EXPECT_EQ(time("0.999999999min"), 59'999'999'940ns);
  EXPECT_EQ(time("9223372036.854775807"), Duration::max());
}

TEST(Config, malformed_times_are_refused) {
  for (const char* text : {"",
                           "0",
                           "0.0",
                           "0ms",
                           "-1",
                           "+1",
                           " 1",
                           "1 ",
                           "1 s",
                           ".5",
                           "5.",
                           "1.2.3",
                           "1e3",
                           "0x10",
                           "1h",
                           "1S",
                           "s",
                           "ms",
                           "min",
                           "1,5",
                           "inf",
                           "nan",
                           "1.0000000001",
                           "0.1234567890",
                           "0.0000001ms",
                           "9223372036.854775808",
                           "99999999999999999999",
                           "1.+5"})
    EXPECT_EQ(refusal_of("RONDO_TIMEOUT", text),
              "RONDO_TIMEOUT=\"" + std::string(text) +
                  "\": expected a time greater than 0 such as 60, 1.5s, 250ms or 2min");
  EXPECT_EQ(refusal_of("RONDO_INIT_TIMEOUT", "soon").substr(0, 27), "RONDO_INIT_TIMEOUT=\"soon\": ");
}

TEST(Config, ranks_and_sizes_are_strict) {
  EXPECT_EQ(refusal_of("RONDO_RANK", "x7"),
            "RONDO_RANK=\"x7\": expected a whole number from 0 to 2147483647");
  for (const char* text : {"", "-1", "+1", "1.0", " 1", "1 ", "7x", "2147483648", "18446744073709551616"})
    EXPECT_EQ(refusal_of("RONDO_RANK", text),
              "RONDO_RANK=\"" + std::string(text) + "\": expected a whole number from 0 to 2147483647");
  EXPECT_EQ(refusal_of("RONDO_SIZE", "0"), "RONDO_SIZE=\"0\": expected a whole number from 1 to 2147483647");
  EXPECT_EQ(parse({{"RONDO_RANK", "2147483647"}}).rank, 2147483647);
  EXPECT_EQ(parse({{"RONDO_RANK", "0"}}).rank, 0);
  EXPECT_EQ(parse({{"RONDO_SIZE", "007"}}).size, 7);  // decimal, leading zeros or not
}

TEST(Config, byte_numbers_take_binary_suffixes) {
  const auto bytes = [](const char* text) { return parse({{"RONDO_EAGER_BYTES", text}}).eager_bytes; };
  EXPECT_EQ(bytes("0"), 0U);
  EXPECT_EQ(bytes("17"), 17U);
  EXPECT_EQ(bytes("17KiB"), 17408U);
  EXPECT_EQ(bytes("3MiB"), 3145728U);
  EXPECT_EQ(bytes("1024GiB"), std::size_t{1} << 40);
  for (const char* text : {"", "KiB", "1.5KiB", "1kib", "1K", "1KB", "-1", "1 KiB", "1025GiB",
                           "1099511627777", "18446744073709551615GiB"})
    EXPECT_EQ(refusal_of("RONDO_ARENA_BYTES", text),
              "RONDO_ARENA_BYTES=\"" + std::string(text) +
                  "\": expected a number of bytes up to 1024GiB such as 4096, 64KiB or 1MiB");
}

TEST(Config, checks_are_a_comma_list) {
  EXPECT_FALSE(parse({{"RONDO_CHECK", ""}}).check_agreement);
  EXPECT_TRUE(parse({{"RONDO_CHECK", "agreement"}}).check_agreement);
  EXPECT_FALSE(parse({{"RONDO_CHECK", "agreement"}}).check_payload);
  EXPECT_TRUE(parse({{"RONDO_CHECK", "payload"}}).check_payload);
  for (const char* text :
       {"all", "agreement,", ",payload", "agreement, payload", "Payload", "agreement payload"})
    EXPECT_EQ(refusal_of("RONDO_CHECK", text),
              "RONDO_CHECK=\"" + std::string(text) + "\": expected a comma list of agreement and payload");
}

TEST(Config, words_are_exact) {
  EXPECT_TRUE(parse({{"RONDO_LOG", "warn"}}).log);
  EXPECT_EQ(refusal_of("RONDO_LOG", "on"), "RONDO_LOG=\"on\": expected off or warn");
  EXPECT_EQ(
      refusal_of("RONDO_BACKEND", "TCP"),
      "RONDO_BACKEND=\"TCP\": unknown distributed backend \"TCP\"; expected any, ring, mpi, jaccl, or nccl "
      "(or rondo's own: tcp, shm, sim)");
  EXPECT_EQ(refusal_of("RONDO_RENDEZVOUS", "a\nb"), "RONDO_RENDEZVOUS=\"a?b\": expected one line of text");
}

TEST(Config, text_reads_back_as_the_same_settings) {
  Config odd;
  odd.backend = Backend::sim;
  odd.rank = 2147483646;
  odd.size = 2147483647;
  odd.rendezvous = "file:/some/where, with = and \"quotes\"";
  odd.timeout = Duration(1);
  odd.init_timeout = Duration::max();
  odd.check_payload = true;
  odd.eager_bytes = 1025;
  odd.credit_bytes = std::size_t{5} << 30;
  odd.arena_bytes = 0;
  odd.single_copy_bytes = 0;
  odd.tuning = "/a b/t=1.json";
  odd.log = false;
  Config both;
  both.check_agreement = both.check_payload = true;
  both.timeout = 1001ms;
  both.init_timeout = 90s;
  for (const Config& config : {Config(), odd, both})
    EXPECT_EQ(parse(variables_of(config)), config) << to_string(config);
}

TEST(Config, text_is_one_line_a_setting) {
  Config config;
  config.rank = 1;
  config.size = 4;
  config.timeout = 1500ms;
  std::ostringstream out;
  out << config;
  EXPECT_EQ(out.str(),
            "RONDO_BACKEND=any\nRONDO_RANK=1\nRONDO_SIZE=4\nRONDO_RING_WIRE=rondo\nRONDO_TIMEOUT=1.5s\n"
            "RONDO_INIT_TIMEOUT=60s\n"
            "RONDO_CHECK=\nRONDO_EAGER_BYTES=32KiB\nRONDO_CREDIT_BYTES=1MiB\nRONDO_ARENA_BYTES=1MiB\n"
            "RONDO_SINGLE_COPY_BYTES=32KiB\nRONDO_LOG=warn\n");
}

TEST(Config, values_set_by_hand_are_checked_like_variables) {
  const auto check = [](auto change) {
    Config config;
    change(config);
    return refusal([&] { rondo::base::validate(config); });
  };
  EXPECT_EQ(check([](Config&) {}), "accepted");
  EXPECT_EQ(check([](Config& c) { c.rank = -1; }),
            "RONDO_RANK=\"-1\": expected a whole number from 0 to 2147483647");
  EXPECT_EQ(check([](Config& c) { c.size = 0; }),
            "RONDO_SIZE=\"0\": expected a whole number from 1 to 2147483647");
  EXPECT_EQ(check([](Config& c) { c.timeout = Duration::zero(); }),
            "RONDO_TIMEOUT=\"0s\": expected a time greater than 0 such as 60, 1.5s, 250ms or 2min");
  EXPECT_EQ(check([](Config& c) { c.init_timeout = -1500ms; }),
            "RONDO_INIT_TIMEOUT=\"-1.5s\": expected a time greater than 0 such as 60, 1.5s, 250ms or 2min");
  EXPECT_NE(check([](Config& c) { c.timeout = Duration::min(); }), "accepted");
  EXPECT_NE(check([](Config& c) { c.arena_bytes = std::numeric_limits<std::size_t>::max(); }), "accepted");
  EXPECT_NE(check([](Config& c) { c.rendezvous = std::string("a\0b", 3); }), "accepted");
  EXPECT_EQ(check([](Config& c) {
              c.rank = 4;
              c.size = 4;
            }),
            "RONDO_RANK=\"4\" and RONDO_SIZE=\"4\": the rank must be less than the size");
  EXPECT_EQ(check([](Config& c) {
              c.rank = 3;
              c.size = 4;
            }),
            "accepted");
}

TEST(Config, what_is_missing_to_describe_a_job_is_named) {
  using rondo::base::incomplete_reason;
  Config config;
  EXPECT_EQ(incomplete_reason(config), "RONDO_RANK, RONDO_SIZE and RONDO_RENDEZVOUS are not set");
  config.size = 4;
  EXPECT_EQ(incomplete_reason(config), "RONDO_RANK and RONDO_RENDEZVOUS are not set");
  config.rank = 2;
  EXPECT_EQ(incomplete_reason(config), "RONDO_RENDEZVOUS is not set");
  config.rendezvous = "host:4000";
  EXPECT_EQ(incomplete_reason(config), "");
}

TEST(Config, every_setting_is_described_and_tells_its_default) {
  std::string defaults;
  std::set<std::string> seen;
  for (const auto& each : rondo::base::describe_settings()) {
    EXPECT_TRUE(seen.insert(each.name).second) << each.name;
    EXPECT_FALSE(each.field.empty() || each.what.empty() || each.expected.empty()) << each.name;
    if (each.default_value) defaults += each.name + '=' + *each.default_value + '\n';
  }
  EXPECT_EQ(defaults, to_string(Config()));
  EXPECT_EQ(rondo::base::describe_settings().front().expected,
            "one of any, ring, mpi, jaccl, nccl, tcp, shm, sim");
}

}  // namespace
