#include "collective/tuning.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "rondo/error.hpp"

namespace rondo::collective {
namespace {

using transport::Verb;

std::string file_of(const std::string& rows) { return R"({"rondo tuning": 1, "rows": [)" + rows + "]}"; }

std::string refusal(const std::string& text) {
  try {
    (void)parse_tuning(text, "T");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(Tuning, RowsAreRead) {
  const auto table = parse_tuning(
      file_of(
          R"({"collective": "all_reduce", "algorithm": "ring", "from": 4097, "up to": 65536, "ranks": [3, 8],
                  "arena": false, "combined once": false},
                 {"collective": "broadcast", "algorithm": "flat", "arena": true})"),
      "T");
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table[0].verb, Verb::all_reduce);
  EXPECT_EQ(table[0].algorithm, Algorithm::ring);
  EXPECT_EQ(table[0].bytes_from, 4097U);
  EXPECT_EQ(table[0].bytes_to, 65536U);
  EXPECT_EQ(table[0].size_from, 3);
  EXPECT_EQ(table[0].size_to, 8);
  EXPECT_EQ(table[0].arena, 0);
  EXPECT_EQ(table[0].combines_once, 0);
  EXPECT_EQ(table[1].bytes_from, 0U);
  EXPECT_EQ(table[1].size_from, 2);
  EXPECT_EQ(table[1].combines_once, -1);
}

TEST(Tuning, ItsRowsStandBeforeTheShippedOnes) {
  const std::string path = testing::TempDir() + "tuning_test.json";
  std::ofstream(path) << file_of(
      R"({"collective": "all_reduce", "algorithm": "direct", "from": 100, "up to": 200,
                                     "ranks": [4, 4], "arena": false})");
  const auto table = table_with(path);
  std::remove(path.c_str());
  EXPECT_EQ(table.size(), default_table().size() + 1);
  const auto chosen = [&](std::size_t bytes, int size) {
    return select(table, {Verb::all_reduce, bytes, size, false, false});
  };
  EXPECT_EQ(chosen(99, 4), Algorithm::one_shot);
  EXPECT_EQ(chosen(100, 4), Algorithm::direct);
  EXPECT_EQ(chosen(200, 4), Algorithm::direct);
  EXPECT_EQ(chosen(201, 4), Algorithm::one_shot);
  EXPECT_EQ(chosen(150, 3), Algorithm::one_shot);
  EXPECT_EQ(table_with("").size(), default_table().size());
}

TEST(Tuning, WhatIsNoTuningIsNamed) {
  EXPECT_EQ(refusal("{"), "T: no JSON at byte 2");
  EXPECT_EQ(refusal("[1e999]"), "T: a number in it is out of range");
  EXPECT_EQ(refusal("[]"), "T: expected an object with \"rondo tuning\" and \"rows\"");
  EXPECT_EQ(refusal("{}"), "T: \"rondo tuning\" is absent, expected 1");
  EXPECT_EQ(refusal(R"({"rondo tuning": 2, "rows": []})"), "T: \"rondo tuning\" is 2, expected 1");
  EXPECT_EQ(refusal(R"({"rondo tuning": 1, "rows": 3})"), "T: \"rows\" is no list");
  const auto row = [](const std::string& text) { return refusal(file_of("{" + text + "}")); };
  EXPECT_EQ(refusal(file_of("7")), "T, row 1: 7 is no object");
  EXPECT_EQ(
      row(R"("collective": "all_reduce", "algorithm": "flat", "arena": true, "size": 3)"),
      "T, row 1: unknown member \"size\", expected one of collective, algorithm, from, up to, ranks, arena, "
      "combined once");
  EXPECT_EQ(row(R"("algorithm": "flat")"), "T, row 1: no \"collective\"");
  EXPECT_EQ(row(R"("collective": "all_sum", "algorithm": "flat")").substr(0, 57),
            "T, row 1: \"collective\" is \"all_sum\", expected one of all_");
  EXPECT_EQ(row(R"("collective": "broadcast", "algorithm": "ring")"),
            "T, row 1: \"algorithm\" is \"ring\", expected one of binomial, flat");
  EXPECT_EQ(row(R"("collective": "broadcast", "algorithm": "binomial", "from": -1)"),
            "T, row 1: \"from\" is -1, expected a number of bytes");
  EXPECT_EQ(row(R"("collective": "broadcast", "algorithm": "binomial", "up to": "4K")"),
            "T, row 1: \"up to\" is \"4K\", expected a number of bytes");
  EXPECT_EQ(row(R"("collective": "broadcast", "algorithm": "binomial", "from": 5, "up to": 4)"),
            "T, row 1: \"from\" is 5, more than \"up to\" 4");
  for (const char* const ranks : {"2", "[2]", "[1, 2]", "[3, 2]", "[2, 9999999999]", "[2.5, 3]"}) {
    EXPECT_NE(row(std::string(R"("collective": "broadcast", "algorithm": "binomial", "ranks": )") + ranks)
                  .find("expected [from, to] with 2 <= from <= to"),
              std::string::npos)
        << ranks;
  }
  EXPECT_EQ(row(R"("collective": "broadcast", "algorithm": "binomial", "arena": 1)"),
            "T, row 1: \"arena\" is 1, expected true or false");
}

// A table can make a call slow, never wrong.
TEST(Tuning, NoCallGetsAnAlgorithmThatCannotServeIt) {
  const auto row = [](const std::string& text) { return refusal(file_of("{" + text + "}")); };
  EXPECT_EQ(row(R"("collective": "all_gather", "algorithm": "flat")"),
            "T, row 1: flat needs \"arena\": true");
  EXPECT_EQ(row(R"("collective": "all_reduce", "algorithm": "ring")"),
            "T, row 1: ring combines elements step by step, so it needs \"combined once\": false");
  EXPECT_EQ(row(R"("collective": "reduce", "algorithm": "binomial", "combined once": true)"),
            "T, row 1: binomial combines elements step by step, so it needs \"combined once\": false");
  EXPECT_EQ(row(R"("collective": "all_gather", "algorithm": "ring")"), "accepted");
  EXPECT_EQ(row(R"("collective": "all_reduce", "algorithm": "one_shot")"), "accepted");
}

TEST(Tuning, AFileThatIsNotThereIsNamed) {
  try {
    (void)table_with("/nonexistent/table.json");
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "RONDO_TUNING=\"/nonexistent/table.json\": No such file or directory");
  }
}

}  // namespace
}  // namespace rondo::collective
