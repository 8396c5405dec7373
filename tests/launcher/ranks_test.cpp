// What ranks get from `rondo run`, and where what they write goes.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "command.hpp"

namespace rondo::test {
namespace {

using Lines = std::vector<std::string>;

TEST(Ranks, AreToldTheirPlaces) {
  const Ended ended = run_rondo(ranks_of_shell(
      3, {}, "echo $RONDO_RANK/$RONDO_SIZE $RONDO_LOCAL_RANK/$RONDO_LOCAL_SIZE ${RONDO_BACKEND-none}"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(sorted_lines(ended.out), (Lines{"[0] 0/3 0/3 none", "[1] 1/3 1/3 none", "[2] 2/3 2/3 none"}));
  EXPECT_EQ(ended.err, "");
}

TEST(Ranks, MayBeOneOnly) {
  const Ended ended = run_rondo(ranks_of_shell(1, {}, "echo $RONDO_RANK/$RONDO_SIZE"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(ended.out, "[0] 0/1\n");
}

TEST(Ranks, AreToldOneMeetingPlaceAndTheLauncher) {
  const Ended ended = run_rondo(ranks_of_shell(2, {"--no-prefix"}, "echo $RONDO_RENDEZVOUS $RONDO_LAUNCHER"));
  const Lines lines = sorted_lines(ended.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], lines[1]);
  std::smatch ports;
  ASSERT_TRUE(std::regex_match(lines[0], ports, std::regex("127\\.0\\.0\\.1:(\\d+) 127\\.0\\.0\\.1:(\\d+)")))
      << lines[0];
  EXPECT_NE(ports[1], ports[2]);
}

TEST(Ranks, ShareASecretThatIsAnotherForEveryJob) {
  const std::string script =
      "cat /proc/self/fd/$RONDO_SECRET_FD; echo; env | grep -c $(cat /proc/self/fd/$RONDO_SECRET_FD)";
  Lines secrets;
  for (int job = 0; job < 2; ++job) {
    const Ended ended = run_rondo(ranks_of_shell(2, {"--no-prefix"}, script));
    const Lines lines = sorted_lines(ended.out);
    ASSERT_EQ(lines.size(), 4U) << ended.out << ended.err;
    EXPECT_EQ(lines[0], "0");  // not in the environment, where others can read it
    EXPECT_EQ(lines[2], lines[3]);
    EXPECT_TRUE(std::regex_match(lines[2], std::regex("[0-9a-f]{64}"))) << lines[2];
    secrets.push_back(lines[2]);
  }
  EXPECT_NE(secrets[0], secrets[1]);
}

TEST(Ranks, CannotChangeTheSecret) {
  const Ended ended =
      run_rondo(ranks_of_shell(1, {}, "echo x > /proc/self/fd/$RONDO_SECRET_FD || echo sealed"));
  EXPECT_NE(ended.out.find("sealed"), std::string::npos) << ended.out;
}

TEST(Ranks, GetTheEnvironmentAndWhatIsAddedToIt) {
  const Ended ended = run_rondo(
      ranks_of_shell(2, {"--no-prefix", "--env", "FRUIT=red apple=1", "--env=NONE=", "--backend", "tcp"},
                     "echo \"$FRUIT|${NONE-unset}|$WORM|$RONDO_BACKEND\""),
      {.environment = "WORM=in it"});
  EXPECT_EQ(ended.out, "red apple=1||in it|tcp\nred apple=1||in it|tcp\n") << ended.err;
}

TEST(Ranks, GetTheirArgumentsAsTheyAre) {
  const Ended ended = run_rondo({"run", "-n", "1", "--", "sh", "-c", "for each; do echo \"<$each>\"; done",
                                 "-n", "--", "a  b", "", "$HOME", "*", "-n=3"});
  EXPECT_EQ(ended.out, "[0] <-->\n[0] <a  b>\n[0] <>\n[0] <$HOME>\n[0] <*>\n[0] <-n=3>\n") << ended.err;
}

TEST(Ranks, OnlyTheFirstReadsStandardInput) {
  const Ended ended =
      run_rondo(ranks_of_shell(3, {}, "echo \"$(cat | tr a-z A-Z)\""), {.input = "some words\nand more"});
  EXPECT_EQ(sorted_lines(ended.out), (Lines{"[0] AND MORE", "[0] SOME WORDS", "[1] ", "[2] "}));
}

TEST(Ranks, HaveManyDescriptors) {
  const Ended ended = run_rondo(ranks_of_shell(1, {"--no-prefix"}, "ulimit -Sn; ulimit -Hn"));
  const std::string half = ended.out.substr(0, ended.out.size() / 2);
  EXPECT_EQ(ended.out, half + half);
}

TEST(Output, OfThreeWhoWriteLongLinesAtOnceStaysWhole) {
  // Rank r writes 40 lines of 100 KB of its own letter.
  const std::string script =
      "line=$(head -c 100000 /dev/zero | tr '\\0' $(printf 'abc' | cut -c $((RONDO_RANK + 1))));"
      "for i in $(seq 40); do echo $i$line; done";
  const Ended ended = run_rondo(ranks_of_shell(3, {}, script));
  EXPECT_EQ(ended.status, 0) << ended.err;
  std::vector<int> next(3, 1);
  std::size_t begin = 0;
  while (begin < ended.out.size()) {
    const std::size_t end = ended.out.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    const std::string line = ended.out.substr(begin, end - begin);
    const auto rank = static_cast<std::size_t>(line[1] - '0');
    ASSERT_LT(rank, 3U);
    const std::string expected =
        "[" + std::to_string(rank) + "] " + std::to_string(next[rank]++) + std::string(100000, "abc"[rank]);
    ASSERT_TRUE(line == expected) << line.substr(0, 20) << " of " << line.size();
    begin = end + 1;
  }
  EXPECT_EQ(next, (std::vector<int>{41, 41, 41}));
}

TEST(Output, BeyondTheLongestLineComesInPieces) {
  const Ended ended = run_rondo(ranks_of_shell(1, {}, "head -c 1000000 /dev/zero | tr '\\0' z"));
  const Lines lines = sorted_lines(ended.out);
  ASSERT_EQ(lines.size(), 4U);
  std::size_t letters = 0;
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.starts_with("[0] z"));
    EXPECT_LE(line.size(), 4U + 256 * 1024);
    letters += line.size() - 4;
  }
  EXPECT_EQ(letters, 1000000U);
}

TEST(Output, WithoutPrefixIsUnchanged) {
  const Ended ended =
      run_rondo(ranks_of_shell(1, {"--no-prefix"}, "printf 'a\\0b\\r\\n\\377[0] c'; printf 'd' >&2"));
  EXPECT_EQ(ended.out, std::string("a\0b\r\n\377[0] c", 11));
  EXPECT_EQ(ended.err, "d");
}

TEST(Output, KeepsStreamsApartAndEndsTheLastLine) {
  const Ended ended =
      run_rondo(ranks_of_shell(2, {}, "echo out $RONDO_RANK; printf 'err %s' $RONDO_RANK >&2"));
  EXPECT_EQ(sorted_lines(ended.out), (Lines{"[0] out 0", "[1] out 1"}));
  EXPECT_EQ(sorted_lines(ended.err), (Lines{"[0] err 0", "[1] err 1"}));
  EXPECT_TRUE(ended.err.ends_with("\n"));
}

TEST(Output, ThatNobodyReadsEndsTheWriters) {
  const Ended ended = run_rondo(ranks_of_shell(3, {}, "yes $RONDO_RANK"), {.closed_output = true});
  EXPECT_EQ(ended.status, 128 + SIGPIPE) << ended.err;
}

TEST(Output, ThatNobodyReadsDisturbsNobodyWhoIsSilent) {
  const Ended ended =
      run_rondo(ranks_of_shell(2, {}, "test $RONDO_RANK = 1 || echo one line; sleep 0.2; echo done >&2"),
                {.closed_output = true});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(count_of(ended.err, "done"), 2U);
}

TEST(Output, IsNotWaitedForWhereAGrandchildHoldsIt) {
  const Ended ended = run_rondo(ranks_of_shell(2, {}, "(sleep 1000; echo never) & echo soon"));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(sorted_lines(ended.out), (Lines{"[0] soon", "[1] soon"}));
}

}  // namespace
}  // namespace rondo::test
