// A process ends without a word, or with a wrong one: all others hear of it at once, by its number.

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <thread>

#include "multiprocess/backends.hpp"

namespace rondo::test {
namespace {

constexpr int size = 4;
constexpr int victim = 2;
// Flags and values of the board.
constexpr int inside = 0;
constexpr int go = 1;
constexpr int caught_at = 0;  // + rank

/// Ends as it must when `victim` is gone: by an error that names it, told at every call from then on.
void need_loss(const Group& group, const Board& board, const std::function<void()>& calls) {
  const Error error = thrown_by(calls);
  board.value(caught_at + group.rank()) = now_ns();
  NEED_OR(error.kind() == ErrorKind::disconnected, error.what());
  NEED_OR(std::string(error.what()).find("rank 2") != std::string::npos, error.what());
  need_all_calls_to_fail(group, ErrorKind::disconnected, victim);
}

/// The others end well, none later than a second after `since`; nothing is left.
void expect_told_at_once(Job& job, const Board& board, std::int64_t since, const Leftovers& before) {
  job.expect_right();
  for (const int rank : {0, 1, 3}) {
    const std::int64_t delay = (board.value(caught_at + rank) - since) / 1'000'000;
    EXPECT_LT(delay, 1000) << "rank " << rank << " heard of it after so many ms";
    // One that was about to connect is logged as having hung up.
    const std::string words = job.words(rank);
    EXPECT_TRUE(words.empty() || words.find("hung up during the handshake") != std::string::npos) << words;
  }
  job.expect_clean();
  before.expect_none();
}

class Killed : public OverBackends {
 protected:
  /// All but the victim run `others`, the victim runs `mine`; it is killed once `inside` is so high.
  void kill_when(std::uint32_t times, const Job::RankMain& mine, const Job::RankMain& others,
                 std::chrono::microseconds later = {}) {
    const Leftovers before;
    Job job(size, backend());
    job.start_all([&](const Group& group) {
      if (group.rank() == victim) {
        mine(group);
        throw std::logic_error("the victim lives");
      }
      need_loss(group, board, [&] { others(group); });
    });
    board.await(inside, times);
    std::this_thread::sleep_for(later);  // where in the middle of things it dies is drawn, not chosen
    const std::int64_t since = now_ns();
    job.signal(victim, SIGKILL);
    EXPECT_EQ(job.wait(victim), -SIGKILL) << job.words(victim);
    expect_told_at_once(job, board, since, before);
  }
  /// Once all are inside, the victim is killed, and the others go on.
  void kill_and_go_on(Job& job) const {
    board.await(inside, size);
    job.signal(victim, SIGKILL);
    EXPECT_EQ(job.wait(victim), -SIGKILL) << job.words(victim);
    board.raise(go);
    job.expect_right();
  }
  /// Called by a rank over and over; counts the times.
  void forever(const std::function<void()>& call) const {
    for (;;) {
      call();
      board.raise(inside);
    }
  }

  Board board;
};
OVER_ALL_BACKENDS(Killed);

void sleep_for_ever() {
  for (;;) pause();
}

TEST_P(Killed, BeforeACollectiveThatTheOthersAreIn) {
  kill_when(
      size - 1, [](const Group&) { sleep_for_ever(); },
      [&](const Group& group) {
        board.raise(inside);
        std::vector<std::int64_t> data = numbers(1 << 17, group.rank());
        group.all_sum(data);
      });
}

TEST_P(Killed, InsideALargeCollective) {
  std::minstd_rand draw(17);
  const auto call = [&](const Group& group) {
    std::vector<std::int64_t> data = numbers(1 << 20, group.rank());
    forever([&] { group.all_sum(data); });
  };
  kill_when(3 * size, call, call, std::chrono::microseconds(draw() % 20'000));
}

TEST_P(Killed, WhileGroupsAreMade) {
  std::minstd_rand draw(5);
  const auto call = [&](const Group& group) {
    forever([&] {
      const auto part = group.split(group.rank() % 2, -group.rank());
      NEED(part->size() == 2);
    });
  };
  for (int round = 0; round < 3; ++round) {
    kill_when(board.count(inside) + 3 * size, call, call, std::chrono::microseconds(draw() % 5000));
  }
}

TEST_P(Killed, InsideManySmallCollectives) {
  const auto call = [&](const Group& group) {
    std::vector<std::int64_t> data = numbers(3, group.rank());
    forever([&] { group.all_sum(data); });
  };
  kill_when(400 * size, call, call, std::chrono::microseconds(500));
}

TEST_P(Killed, BySomeThreadOfItsOwnInsideABroadcast) {
  const Leftovers before;
  Job job(size, backend());
  job.start_all([&](const Group& group) {
    std::vector<std::int64_t> data = numbers(1 << 20, group.rank());
    std::thread killer;
    if (group.rank() == victim) {
      killer = std::thread([&] {
        board.await(inside, 3);
        board.value(caught_at + victim) = now_ns();
        kill(getpid(), SIGKILL);
      });
    }
    need_loss(group, board, [&] {
      for (;;) {
        group.broadcast(data, victim);
        if (group.rank() == victim) board.raise(inside);
      }
    });
  });
  EXPECT_EQ(job.wait(victim), -SIGKILL) << job.words(victim);
  expect_told_at_once(job, board, board.value(caught_at + victim), before);
}

// Nobody is in a call: the next one says so.
TEST_P(Killed, BetweenCalls) {
  const Leftovers before;
  Job job(size, backend());
  job.start_all([&](const Group& group) {
    group.barrier();
    board.raise(inside);
    if (group.rank() == victim) sleep_for_ever();
    board.await(go);
    need_loss(group, board, [&] { group.barrier(); });
  });
  board.await(inside, size);
  const std::int64_t since = now_ns();
  job.signal(victim, SIGKILL);
  EXPECT_EQ(job.wait(victim), -SIGKILL) << job.words(victim);
  board.raise(go);
  expect_told_at_once(job, board, since, before);
}

// A program that makes no call may ask.
TEST_P(Killed, FailureTellsWithoutACall) {
  Job job(size, backend());
  job.start_all([&](const Group& group) {
    group.barrier();
    board.raise(inside);
    if (group.rank() == victim) sleep_for_ever();
    board.await(go);
    NEED(comes_true([&] { return group.failure().has_value(); }, std::chrono::seconds(1)));
    NEED(group.failure()->kind == ErrorKind::disconnected && group.failure()->rank == victim);
  });
  kill_and_go_on(job);
}

TEST_P(Killed, WhileSendingALargeMessage) {
  kill_when(
      2,
      [&](const Group& group) {
        const auto data = numbers(1 << 22, 5);
        forever([&] { group.send(data, 1); });
      },
      [&](const Group& group) {
        std::vector<std::int64_t> data(1 << 22);
        if (group.rank() != 1) group.barrier();
        for (;;) group.recv_into(data, victim);
      },
      std::chrono::milliseconds(7));
}

TEST_P(Killed, WhileReceivingALargeMessage) {
  kill_when(
      2,
      [&](const Group& group) {
        std::vector<std::int64_t> data(1 << 22);
        forever([&] { group.recv_into(data, 1); });
      },
      [&](const Group& group) {
        const auto data = numbers(1 << 22, 5);
        if (group.rank() != 1) group.barrier();
        for (;;) group.send(data, victim);
      },
      std::chrono::milliseconds(7));
}

// The loss reaches a group split from the first one, and leaves alone one that the victim was never in.
TEST_P(Killed, EndsOnlyGroupsThatItWasIn) {
  Job job(size, backend());
  job.start_all([&](const Group& group) {
    const auto pair = group.split(group.rank() / 2);  // {0, 1} and {2, 3}
    board.raise(inside);
    if (group.rank() == victim) sleep_for_ever();
    if (group.rank() == 3) {
      const Error error = thrown_by([&] { pair->barrier(); });
      NEED_OR(error.kind() == ErrorKind::disconnected && error.peer() == 0, error.what());
      return;
    }
    board.await(go);
    need_loss(group, board, [&] { group.barrier(); });
    for (int round = 0; round < 100; ++round) {
      std::vector<std::int64_t> data = numbers(5000, round + pair->rank());
      pair->all_sum(data);
      NEED(data == summed_numbers(5000, round, 2));
    }
  });
  kill_and_go_on(job);
}

TEST_P(Killed, AllAtOnceAndTheNextJobInTheSameFolderWorks) {
  const Leftovers before;
  Job job(size, backend());
  job.start_all([&](const Group& group) {
    std::vector<std::int64_t> data = numbers(1 << 17, group.rank());
    forever([&] { group.all_sum(data); });
  });
  board.await(inside, 2 * size);
  for (int rank = 0; rank < size; ++rank) job.signal(rank, SIGKILL);
  for (int rank = 0; rank < size; ++rank) (void)job.wait(rank);  // the last may have heard of the first
  before.expect_none();
  job.start_all([](const Group& group) {
    std::vector<std::int64_t> data = numbers(1000, group.rank());
    group.all_sum(data);
    NEED(data == summed_numbers(1000, 0, size));
  });
  job.expect_right();
  job.expect_clean();
}

// Killed at any moment of set-up: what is left in the folder is nobody's.
TEST_P(Killed, DuringSetUpAndTheNextJobInTheSameFolderWorks) {
  const Leftovers before;
  Job job(3, backend());
  for (int round = 0; round < 8; ++round) {
    job.start_all([](const Group& group) { group.barrier(); });
    std::this_thread::sleep_for(std::chrono::microseconds(700 * round));
    for (int rank = 0; rank < 3; ++rank) job.signal(rank, SIGKILL);
    for (int rank = 0; rank < 3; ++rank) (void)job.wait(rank);
  }
  job.start_all([](const Group& group) {
    std::vector<std::int64_t> data = numbers(1000, group.rank());
    group.all_sum(data);
    NEED(data == summed_numbers(1000, 0, 3));
  });
  job.expect_right();
  before.expect_none();
}

// ---- ends that are not kills ------------------------------------------------------------------------------

class EndsBadly : public OverBackends {
 protected:
  /// Rank 1 of 3 ends by `end` while the others wait for it; they must hear of it, and not run into a limit.
  void expect_heard(const Job::RankMain& end, int status) {
    Board board;
    Job job(3, backend());
    job.start_all([&](const Group& group) {
      group.barrier();
      if (group.rank() == 1) {
        board.await(inside, 2);
        board.value(0) = now_ns();
        end(group);
        return;
      }
      board.raise(inside);
      std::vector<std::int64_t> data = numbers(1000, group.rank());
      const Error error = thrown_by([&] { group.all_sum(data); });
      NEED_OR(error.kind() == ErrorKind::disconnected, error.what());
      NEED_OR(error.peer() == 1, error.what());
      NEED_OR(std::string(error.what()).find("rank 1") != std::string::npos, error.what());
      NEED_OR(ms_since(board.value(0)) < 1000, error.what());
    });
    EXPECT_EQ(job.wait(1), status) << job.words(1);
    job.expect_right();
  }
};
OVER_ALL_BACKENDS(EndsBadly);

TEST_P(EndsBadly, ByAnExceptionThatMainCatches) {
  expect_heard([](const Group&) { throw std::runtime_error("the program's own"); }, 4);
}

TEST_P(EndsBadly, ByAnExceptionThatNobodyCatches) {
  expect_heard(
      [](const Group&) { std::thread([] { throw std::runtime_error("the program's own"); }).join(); },
      -SIGABRT);
}

TEST_P(EndsBadly, ByASignal) {
  expect_heard([](const Group&) { raise(SIGSEGV); }, -SIGSEGV);
}

TEST_P(EndsBadly, WithoutAnyCleaningUp) {
  expect_heard([](const Group&) { _exit(9); }, 9);
}

// The last handle is a static object: it says goodbye while the process ends.
TEST_P(EndsBadly, ByExitWithTheGroupHeldByAStatic) {
  expect_heard(
      [](const Group& group) {
        static Group kept = group;
        std::exit(5);
      },
      5);
}

// A child of the victim still holds its descriptors, and lives on.
TEST_P(EndsBadly, WhileAChildOfItHoldsItsDescriptors) {
  Board child;
  expect_heard(
      [&](const Group&) {
        const pid_t id = fork();
        if (id == 0) {
          prctl(PR_SET_PDEATHSIG, 0);
          alarm(5);
          child.await(0);
          _exit(0);
        }
        kill(getpid(), SIGKILL);
      },
      -SIGKILL);
  child.raise(0);
}

}  // namespace
}  // namespace rondo::test
