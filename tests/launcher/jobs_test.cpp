// Jobs of rondo under `rondo run`.

#include <gtest/gtest.h>

#include <csignal>
#include <deque>

#include "command.hpp"

namespace rondo::test {
namespace {

TEST(Jobs, OfEverySize) {
  for (const int size : {1, 2, 3, 4, 8}) {
    const Ended ended = run_rondo(ranks_of(size, {}, {"sum"}));
    EXPECT_EQ(ended.status, 0) << size << ended.err << ended.out;
    EXPECT_EQ(count_of(ended.out, ": right"), static_cast<std::size_t>(size)) << ended.out;
    EXPECT_EQ(ended.err, "");
  }
}

TEST(Jobs, OverTheBackendAskedFor) {
  for (const char* backend : {"tcp", "shm"}) {
    const Ended ended = run_rondo(ranks_of(3, {"--backend", backend}, {"sum"}));
    EXPECT_EQ(ended.status, 0) << ended.err << ended.out;
    EXPECT_EQ(count_of(ended.out, std::string("of 3 over ") + backend + ": right"), 3U) << ended.out;
  }
}

TEST(Jobs, MayBeginAgain) {
  const Ended ended = run_rondo(ranks_of(3, {}, {"often"}));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(count_of(ended.out, "20 times right"), 3U) << ended.out;
  EXPECT_EQ(ended.err, "");
}

TEST(Jobs, AreToldOfAKilledRankInTheLaunchersWords) {
  for (const char* backend : {"tcp", "shm"}) {
    const Ended ended = run_rondo(ranks_of(4, {"--backend", backend, "--grace", "60"}, {"killed"}));
    EXPECT_EQ(ended.status, 137) << ended.err;
    EXPECT_EQ(ended.err, "rondo run: rank 2 was killed by signal 9 (SIGKILL); stopping the others\n");
    EXPECT_EQ(count_of(ended.out, "cause: rank 2"), 3U) << ended.out;
    EXPECT_EQ(count_of(ended.out, "killed by signal 9 (SIGKILL)"), 3U) << ended.out;
  }
}

TEST(Jobs, AreToldOfARankThatGaveUp) {
  const Ended ended = run_rondo(ranks_of(3, {"--on-failure", "continue"}, {"gives_up"}));
  EXPECT_EQ(ended.status, 0) << ended.err;
  // The others may be done before anybody is blamed.
  EXPECT_TRUE(ended.err.starts_with("rondo run: rank 1 exited with status 5")) << ended.err;
  EXPECT_EQ(count_of(ended.err, "\n"), 1U) << ended.err;
  EXPECT_EQ(count_of(ended.out, "exited with status 5"), 2U) << ended.out;
}

TEST(Jobs, BlameWhoFailedFirstNotWhoDiedOfIt) {
  for (int round = 0; round < 5; ++round) {
    const Ended ended = run_rondo(ranks_of(4, {}, {"throws"}));
    EXPECT_EQ(ended.status, 6) << ended.err;
    EXPECT_EQ(count_of(ended.err, "rondo run: rank 1 exited with status 6"), 1U) << ended.err;
  }
}

TEST(Jobs, AreToldOfARankThatEndedBeforeItJoined) {
  const Ended ended =
      run_rondo(ranks_of(3, {"--grace", "60", "--env", "RONDO_INIT_TIMEOUT=60"}, {"never_joins"}));
  EXPECT_EQ(ended.status, 7) << ended.err;
  EXPECT_EQ(count_of(ended.out, "rank 1 was lost: exited with status 7"), 2U) << ended.out;
}

TEST(Jobs, AreNotDisturbedByARankThatLeavesInPeace) {
  const Ended ended = run_rondo(ranks_of(3, {}, {"leaves_early"}));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(count_of(ended.out, "done"), 2U) << ended.out;
  EXPECT_EQ(ended.err, "");
}

TEST(Jobs, AreNotJoinedWithAnotherSecret) {
  const Ended ended = run_rondo(ranks_of(3, {"--grace", "60"}, {"another_secret"}));
  EXPECT_EQ(ended.status, 8) << ended.err;
  EXPECT_EQ(count_of(ended.out, "told: "), 3U) << ended.out << ended.err;
  EXPECT_GE(count_of(ended.out, "secret"), 1U) << ended.out;
  EXPECT_NE(ended.err.find("dropped a connection"), std::string::npos) << ended.err;
}

TEST(Jobs, DoNotMindStrangers) {
  const Ended ended = run_rondo(ranks_of(3, {}, {"strangers"}));
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_EQ(count_of(ended.out, "right"), 3U) << ended.out;
}

TEST(Jobs, MayBeTwentyAtOnce) {
  std::deque<Command> commands;
  for (int job = 0; job < 20; ++job) commands.emplace_back(ranks_of(2, {}, {"sum"}));
  for (Command& each : commands) {
    const Ended ended = each.wait();
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "right"), 2U) << ended.out;
    EXPECT_EQ(ended.err, "");
    each.await_nobody();
  }
}

}  // namespace
}  // namespace rondo::test
