// How jobs end: exit statuses, failures, signals, limits, and that nobody is left behind.

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <csignal>

#include "command.hpp"

namespace rondo::test {
namespace {

using std::to_string;

struct Case {
  const char* name;
  std::vector<std::string> options;
  const char* script;
  int status;
  const char* says;  ///< on standard error, once; empty: nothing there at all
};

class Statuses : public testing::TestWithParam<Case> {};

TEST_P(Statuses, AreRight) {
  const Case& each = GetParam();
  const Ended ended = run_rondo(ranks_of_shell(3, each.options, each.script));
  EXPECT_EQ(ended.status, each.status) << ended.err;
  if (*each.says == '\0')
    EXPECT_EQ(ended.err, "");
  else
    EXPECT_EQ(count_of(ended.err, "rondo run: "), 1U) << ended.err;
  EXPECT_NE(ended.err.find(each.says), std::string::npos) << ended.err;
}

const std::vector<Case> cases = {
    {"AllZero", {}, "exit 0", 0, ""},
    {"OneFails",
     {},
     "test $RONDO_RANK != 1 || exit 7; sleep 1000",
     7,
     "rank 1 exited with status 7; stopping the others"},
    {"OneIsKilled",
     {},
     "test $RONDO_RANK != 2 || kill -9 $$; sleep 1000",
     137,
     "rank 2 was killed by signal 9 (SIGKILL); stopping the others"},
    {"TheLastFails",
     {},
     "test $RONDO_RANK = 0 || exit 0; sleep 0.3; exit 3",
     3,
     "rank 0 exited with status 3"},
    {"OthersEndByTheirOwn",
     {"--grace", "100"},
     "test $RONDO_RANK != 1 || exit 7; sleep 0.3; exit 8",
     7,
     "rank 1 exited"},
    {"OthersFailWhenAsked",
     {"--grace", "0"},
     "test $RONDO_RANK != 1 || exit 7; trap 'exit 9' TERM; while :; do sleep 0.01; done",
     7,
     "rank 1 exited"},
    {"SurvivorsGoOn",
     {"--on-failure", "continue"},
     "test $RONDO_RANK != 2 || kill -SEGV $$; sleep 0.3",
     0,
     "rank 2 was killed by signal 11 (SIGSEGV); the others go on"},
    {"SurvivorsStatus",
     {"--on-failure=continue"},
     "test $RONDO_RANK != 2 || exit 5; sleep 0.3; exit $RONDO_RANK",
     1,
     "rank 2 exited with status 5; the others go on"},

};
INSTANTIATE_TEST_SUITE_P(Of, Statuses, testing::ValuesIn(cases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Endings, OfAProgramThatIsNotThere) {
  const Ended ended = run_rondo({"run", "-n", "3", "--", "./no such program", "x"});
  EXPECT_EQ(ended.status, 127);
  EXPECT_EQ(ended.err, "rondo run: cannot start ./no such program: No such file or directory\n");
}

TEST(Endings, OfAFileThatIsNoProgram) {
  const Ended ended = run_rondo({"run", "-n", "2", "--", "/proc/self/status"});
  EXPECT_EQ(ended.status, 126);
  EXPECT_EQ(ended.err, "rondo run: cannot start /proc/self/status: Permission denied\n");
}

TEST(Endings, OfWrongUsage) {
  const auto expect = [](const std::vector<std::string>& words, const std::string& part) {
    const Ended ended = run_rondo(words);
    EXPECT_EQ(ended.status, 2) << part;
    EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
    EXPECT_EQ(ended.out, "");
  };
  expect({}, "no command");
  expect({"rnu"}, "\"rnu\"");
  expect({"run", "--", "true"}, "-n");
  expect({"run", "-n", "2"}, "no program given");
  expect({"run", "-n", "2", "--"}, "no program given");
  expect({"run", "-n", "2", "true"}, "behind --");
  expect({"run", "-n", "2", "--grcae", "1", "--", "true"}, "--grcae");
  for (const char* count : {"0", "-1", "x", "2x", "100001"})
    expect({"run", "-n", count, "--", "true"}, "number of ranks");
  expect({"run", "-n", "2", "--timeout", "soon", "--", "true"}, "got \"soon\"");
  expect({"run", "-n", "2", "--env", "=x", "--", "true"}, "NAME=VALUE");
  expect({"run", "-n", "2", "--env", "RONDO_RANK=1", "--", "true"}, "RONDO_RANK is set by rondo run itself");
  expect({"run", "-n", "2", "--backend", "carrier-pigeon", "--", "true"}, "carrier-pigeon");
  expect({"run", "-n", "2", "--on-failure", "panic", "--", "true"}, "stop or continue");
}

TEST(Endings, OfHelpAndVersion) {
  const Ended version = run_rondo({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(version.out.starts_with("rondo ")) << version.out;
  EXPECT_NE(run_rondo({"--help"}).out.find("run "), std::string::npos);
  const Ended help = run_rondo({"run", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_NE(help.out.find("--on-failure"), std::string::npos);
}

TEST(Endings, AtTheLimit) {
  const Ended ended = run_rondo(ranks_of_shell(2, {"--timeout", "200ms"}, "sleep 1000"));
  EXPECT_EQ(ended.status, 124);
  EXPECT_EQ(ended.err, "rondo run: the limit of 0.2 s ran out; ending all ranks\n");
}

TEST(Endings, BeforeTheLimit) {
  EXPECT_EQ(run_rondo(ranks_of_shell(2, {"--timeout", "100"}, "exit 0")).status, 0);
}

const char* const deaf = "trap '' TERM INT; echo deaf; while :; do sleep 0.02; done";

TEST(Endings, OfThoseWhoIgnoreTerm) {
  const Ended ended =
      run_rondo(ranks_of_shell(3, {"--grace", "100ms", "--kill-after", "300ms"},
                               std::string("test $RONDO_RANK != 0 || { sleep 0.3; exit 6; };") + deaf));
  EXPECT_EQ(ended.status, 6);
  EXPECT_NE(ended.err.find("killing 2 ranks that did not end"), std::string::npos) << ended.err;
}

TEST(Endings, OfThoseWhoAreStopped) {
  const Ended ended = run_rondo(ranks_of_shell(2, {"--grace", "0", "--kill-after", "200ms"},
                                               "test $RONDO_RANK != 0 || exit 4; kill -STOP $$"));
  EXPECT_EQ(ended.status, 4) << ended.err;
}

TEST(Signals, ArePassedOn) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT}) {
    Command command(ranks_of_shell(
        3, {}, "trap 'echo got it; exit 0' USR1 USR2 HUP QUIT; echo ready; while :; do sleep 0.02; done"));
    command.await("ready", 3);
    command.signal(signal);
    const Ended ended = command.wait();
    EXPECT_EQ(ended.status, 0) << signal;
    EXPECT_EQ(count_of(ended.out, "got it"), 3U) << signal;
    EXPECT_EQ(count_of(ended.err, "rondo"), 0U) << ended.err;  // what shells say of their children is theirs
  }
}

TEST(Signals, ThatEndRanksGiveTheirStatus) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Command command(ranks_of_shell(3, {}, "echo ready; while :; do sleep 0.02; done"));
    command.await("ready", 3);
    command.signal(signal);
    const Ended ended = command.wait();
    EXPECT_EQ(ended.status, 128 + signal);
    EXPECT_EQ(count_of(ended.err, "\n"), 1U) << ended.err;
  }
}

TEST(Signals, ReachWholeProcessGroups) {
  Command command(ranks_of_shell(2, {},
                                 "trap : TERM; sh -c 'trap \"echo child; exit 0\" TERM; echo ready; while :; "
                                 "do sleep 0.02; done'; exit 0"));
  command.await("ready", 2);
  command.signal(SIGTERM);
  const Ended ended = command.wait();
  EXPECT_EQ(count_of(ended.out, "child"), 2U);
}

TEST(Signals, ASecondTermKills) {
  Command command(ranks_of_shell(2, {"--kill-after", "1000"}, deaf));
  command.await("deaf", 2);
  command.signal(SIGTERM);
  command.await("passed on");
  command.signal(SIGTERM);
  EXPECT_EQ(command.wait().status, 137);
  command.await_nobody();
}

TEST(Signals, ThatAreIgnoredLeadToKilling) {
  Command command(ranks_of_shell(2, {"--kill-after", "200ms"}, deaf));
  command.await("deaf", 2);
  command.signal(SIGINT);
  const Ended ended = command.wait();
  EXPECT_EQ(ended.status, 137);
  EXPECT_NE(ended.err.find("killing 2 ranks"), std::string::npos) << ended.err;
}

TEST(Signals, StopAndGoOn) {
  Command command(
      ranks_of_shell(2, {}, "trap 'echo again; exit 0' CONT; echo $$ ready; while :; do sleep 0.02; done"));
  command.await("ready", 2);
  command.signal(SIGTSTP);
  int status = 0;
  ASSERT_EQ(::waitpid(command.process(), &status, WUNTRACED), command.process());
  EXPECT_TRUE(WIFSTOPPED(status));
  command.signal(SIGCONT);
  const Ended ended = command.wait();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(count_of(ended.out, "again"), 2U);
}

// Ranks with children in their group, in a session of their own, and without a parent.
const char* const family =
    "setsid sh -c 'trap \"\" TERM HUP; echo there; sleep 1000' & "
    "(setsid sh -c 'sh -c \"echo there; sleep 1000\" & exit 0') & sleep 1000 & wait_for() { wait; }; ";

TEST(NobodyIsLeft, WhenRanksEnd) {
  Command command(ranks_of_shell(2, {}, std::string(family) + "sleep 0.3; exit 0"));
  EXPECT_EQ(command.wait().status, 0);
  command.await_nobody();
}

TEST(NobodyIsLeft, WhenARankFails) {
  Command command(
      ranks_of_shell(2, {}, std::string(family) + "sleep 0.2; test $RONDO_RANK = 1 || exit 2; wait_for"));
  EXPECT_EQ(command.wait().status, 2);
  command.await_nobody();
}

TEST(NobodyIsLeft, WhenTheLauncherIsKilled) {
  Command command(ranks_of_shell(3, {}, std::string(family) + "echo ready; wait_for"));
  command.await("ready", 3);
  command.await("there", 6);
  command.signal(SIGKILL);
  EXPECT_EQ(command.wait().status, -SIGKILL);
  command.await_nobody();
}

TEST(NobodyIsLeft, WhenTheHolderOfTheRanksIsKilled) {
  Command command(ranks_of_shell(2, {"--no-prefix"}, std::string(family) + "echo holder $PPID; wait_for"));
  command.await("holder", 2);
  const std::string& out = command.await("there", 4);
  const int holder = std::stoi(out.substr(out.find("holder ") + 7));
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  const Ended ended = command.wait();
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("has been killed"), std::string::npos) << ended.err;
  command.await_nobody();
}

}  // namespace
}  // namespace rondo::test
