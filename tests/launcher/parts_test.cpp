// The parts of the launcher that need no process.

#include <gtest/gtest.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>

#include "run/help.hpp"
#include "run/lines.hpp"
#include "run/options.hpp"
#include "run/outcome.hpp"
#include "run/places.hpp"
#include "run/words.hpp"

namespace rondo::tools::run {
namespace {

using namespace std::chrono_literals;

std::string cut(LineCutter cutter, const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) cutter.feed(piece, out);
  cutter.finish(out);
  EXPECT_EQ(cutter.kept(), 0U);
  return out;
}

TEST(Lines, StandBehindThePrefixHoweverTheyCome) {
  const std::string text = "one\n\ntwo three\nfour";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += piece) pieces.push_back(text.substr(at, piece));
    EXPECT_EQ(cut(LineCutter("[7] "), pieces), "[7] one\n[7] \n[7] two three\n[7] four\n") << piece;
    EXPECT_EQ(cut(LineCutter(""), pieces), text) << piece;
  }
}

TEST(Lines, LongerThanTheLimitComeInPieces) {
  for (const std::size_t piece : {1U, 2U, 3U, 4U, 5U, 13U}) {
    const std::string text = "abcdefghij\nkl\nmnop\n";
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += piece) pieces.push_back(text.substr(at, piece));
    EXPECT_EQ(cut(LineCutter("> ", 4), pieces), "> abcd\n> efgh\n> ij\n> kl\n> mnop\n") << piece;
    EXPECT_EQ(cut(LineCutter("", 4), pieces), text) << piece;
  }
}

TEST(Lines, KeepNoMoreThanTheLimit) {
  LineCutter cutter("p", 10);
  std::string out;
  for (int i = 0; i < 100; ++i) {
    cutter.feed("abc", out);
    EXPECT_LE(cutter.kept(), 10U);
  }
  EXPECT_EQ(std::ranges::count(out, '\n'), 29);
}

TEST(Times, AreReadWithTheirUnits) {
  EXPECT_EQ(parse_time("60"), 60s);
  EXPECT_EQ(parse_time("0"), 0s);
  EXPECT_EQ(parse_time("1.5s"), 1500ms);
  EXPECT_EQ(parse_time("250ms"), 250ms);
  EXPECT_EQ(parse_time("2min"), 120s);
  for (const char* wrong :
       {"", "s", "-1", "1h", "1 s", "nan", "inf", "1e3", "1e300", "9999999999", "0x1", "+1", "1.5.2"})
    EXPECT_EQ(parse_time(wrong), std::nullopt) << wrong;
}

TEST(Usage, HelpNamesEveryOption) {
  CLI::App app;
  RunOptions options;
  const CLI::App* run = add_run(app, options);
  for (const CLI::Option* each : run->get_options())
    for (const std::string& name : each->get_lnames())
      EXPECT_NE(std::string(run_help).find("--" + name), std::string::npos) << name;
}

TEST(Usage, TheProgramStandsBehindTheFirstTwoDashes) {
  std::vector<std::string> words = {"run", "-n", "2", "--", "prog", "-n", "--", "x"};
  EXPECT_EQ(split_program(words), (std::vector<std::string>{"prog", "-n", "--", "x"}));
  EXPECT_EQ(words, (std::vector<std::string>{"run", "-n", "2"}));
  EXPECT_EQ(split_program(words), std::nullopt);
}

TEST(Places, EachNameIsThereOnce) {
  RunOptions options;
  options.ranks = 3;
  options.environment = {"COLOR=green", "COLOR=blue"};
  options.backend = "tcp";
  const std::vector<std::string> given = {
      "RONDO_RANK=9",         "COLOR=red",         "COLORS=4", "RONDO_BACKEND=shm",
      "RONDO_SECRET_FILE=/s", "RONDO_SECRET_FD=77"};
  auto variables = environment_of(2, options, {"1.2.3.4:5", "6.7.8.9:10", 64}, given);
  std::ranges::sort(variables);
  EXPECT_EQ(variables, (std::vector<std::string>{
                           "COLOR=blue", "COLORS=4", "RONDO_BACKEND=tcp", "RONDO_LAUNCHER=6.7.8.9:10",
                           "RONDO_LOCAL_RANK=2", "RONDO_LOCAL_SIZE=3", "RONDO_RANK=2",
                           "RONDO_RENDEZVOUS=1.2.3.4:5", "RONDO_SECRET_FD=64", "RONDO_SIZE=3"}));
}

constexpr int exited(int status) { return status << 8; }

TEST(Outcomes, BlameTheFirstUnlessOneWasKilled) {
  Outcome outcome(4, OnFailure::stop);
  outcome.ended({1, exited(0)});
  EXPECT_FALSE(outcome.culprit());
  EXPECT_EQ(outcome.exit_status(), 0);
  outcome.ended({3, exited(4)});
  EXPECT_EQ(outcome.culprit()->rank, 3);
  EXPECT_FALSE(outcome.certain());
  outcome.ended({0, SIGABRT});
  EXPECT_EQ(outcome.culprit()->rank, 3);
  outcome.ended({2, SIGKILL});
  EXPECT_EQ(outcome.culprit()->rank, 2);
  EXPECT_TRUE(outcome.certain());
  EXPECT_EQ(outcome.exit_status(), 137);
  EXPECT_EQ(outcome.left(), 0);
}

TEST(Outcomes, AreSettledOnce) {
  Outcome outcome(3, OnFailure::stop);
  outcome.ended({1, exited(5)});
  outcome.settle();
  outcome.ended({2, SIGSEGV});
  EXPECT_EQ(outcome.culprit()->rank, 1);
  EXPECT_EQ(outcome.exit_status(), 5);
}

TEST(Outcomes, OfSurvivors) {
  Outcome outcome(3, OnFailure::go_on);
  outcome.ended({1, SIGSEGV});
  EXPECT_EQ(outcome.exit_status(), 0);
  outcome.ended({0, exited(0)});
  outcome.ended({2, exited(6)});
  EXPECT_EQ(outcome.exit_status(), 6);
  Outcome alone(1, OnFailure::go_on);
  alone.ended({0, exited(9)});
  EXPECT_EQ(alone.exit_status(), 9);
}

TEST(Words, TellHowAProcessEnded) {
  EXPECT_EQ(sentence_of(exited(3)), "exited with status 3");
  EXPECT_EQ(sentence_of(SIGKILL), "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(ending_of(SIGSEGV | 0x80), "killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(ending_of(40), "killed by signal 40");
  EXPECT_EQ(exit_status_of(exited(7)), 7);
  EXPECT_EQ(exit_status_of(SIGTERM), 143);
}

}  // namespace
}  // namespace rondo::tools::run
