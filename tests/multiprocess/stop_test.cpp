// Processes that stop, dawdle, or give up: limits hold, and abort() frees whoever is blocked.

#include <csignal>
#include <thread>

#include "multiprocess/backends.hpp"

namespace rondo::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds limit(500);
/// A fifth more than the limit, as promised, and what a loaded machine may need to run us at all.
constexpr std::int64_t latest = limit.count() * 12 / 10 + 150;

// Flags of the board.
constexpr int inside = 0;
constexpr int stopped = 1;

/// Runs into the limit: not much later, and no earlier than another rank's that began a little sooner.
Error need_timeout(const std::function<void()>& call) {
  const std::int64_t begin = now_ns();
  const Error error = thrown_by(call);
  const std::int64_t took = ms_since(begin);
  NEED_OR(error.kind() == ErrorKind::timed_out, error.what());
  NEED_OR(took >= limit.count() * 8 / 10 && took <= latest,
          std::string(error.what()) + " after ms: " + std::to_string(took));
  return error;
}

bool names(const Error& error, const std::string& word) {
  return std::string(error.what()).find(word) != std::string::npos;
}

class Stopped : public OverBackends {
 protected:
  /// Rank 2 of 3 is stopped while it does nothing; the others then make their calls.
  void with_rank_2_stopped(const Job::RankMain& others, const Job::RankMain& afterwards) {
    Job job(3, backend());
    job.start_all([&](const Group& group) {
      group.barrier();
      if (group.rank() == 2) {
        board.raise(inside);
        board.await(stopped);
        afterwards(group);
        return;
      }
      board.await(stopped);
      others(group);
    });
    board.await(inside);
    job.signal(2, SIGSTOP);
    board.raise(stopped);
    job.expect_right({0, 1});
    job.signal(2, SIGCONT);
    job.expect_right();
    job.expect_clean();
  }
  /// It learns, when it comes back, how the group has ended meanwhile.
  static void hears_of_the_end(const Group& group) {
    NEED(comes_true([&] { return group.failure().has_value(); }, std::chrono::seconds(1)));
    need_all_calls_to_fail(group, ErrorKind::timed_out, group.failure()->rank);
  }

  Board board;
};
OVER_ALL_BACKENDS(Stopped);

TEST_P(Stopped, BarrierNamesTheRank) {
  with_rank_2_stopped(
      [](const Group& group) {
        const Error error = need_timeout([&] { group.barrier({.timeout = limit}); });
        NEED_OR(names(error, "rank 2"), error.what());
        NEED(group.failure() && group.failure()->kind == ErrorKind::timed_out);
      },
      hears_of_the_end);
}

TEST_P(Stopped, SmallCollective) {
  with_rank_2_stopped(
      [](const Group& group) {
        std::vector<std::int64_t> data = numbers(4, group.rank());
        const Error error = need_timeout([&] { group.all_sum(data, {.timeout = limit}); });
        NEED_OR(names(error, "rank 2"), error.what());
      },
      hears_of_the_end);
}

TEST_P(Stopped, LargeCollective) {
  with_rank_2_stopped(
      [](Group group) {
        group.set_timeout(limit);
        std::vector<std::int64_t> data = numbers(1 << 20, group.rank());
        need_timeout([&] { group.all_sum(data); });
        need_all_calls_to_fail(group, ErrorKind::timed_out, group.failure()->rank);
      },
      hears_of_the_end);
}

TEST_P(Stopped, ReceiveAndProbe) {
  with_rank_2_stopped(
      [](const Group& group) {
        std::vector<std::int64_t> data(1000);
        const Error error = need_timeout([&] { group.recv_into(data, 2, {.timeout = limit}); });
        NEED(error.peer() == 2);
        need_timeout([&] { (void)group.probe(2, {.timeout = limit}); });
        Request request = group.irecv(data, 2);
        need_timeout([&] { request.wait(limit); });
        NEED(!group.failure());  // a message that never began ends nothing
      },
      [](const Group&) {});
}

TEST_P(Stopped, LargeSend) {
  with_rank_2_stopped(
      [](const Group& group) {
        const auto data = numbers(1 << 22, group.rank());
        const Error error = need_timeout([&] { group.send(data, 2, {.timeout = limit}); });
        NEED(error.peer() == 2);
      },
      [](const Group&) {});
}

TEST_P(Stopped, SendsUntilTheCreditIsUsedUp) {
  with_rank_2_stopped(
      [](const Group& group) {
        const auto data = numbers(1000, group.rank());
        std::int64_t begin = 0;
        const Error error = thrown_by([&] {
          for (int i = 0; i < 100'000; ++i) {
            begin = now_ns();
            group.send(data, 2, {.timeout = limit});
          }
        });
        NEED_OR(error.kind() == ErrorKind::timed_out && error.peer() == 2, error.what());
        NEED(ms_since(begin) <= latest);
      },
      [](const Group&) {});
}

TEST_P(Stopped, Split) {
  with_rank_2_stopped(
      [](Group group) {
        group.set_timeout(limit);
        need_timeout([&] { (void)group.split(0); });
      },
      hears_of_the_end);
}

// Stopped in the middle of a large collective, wherever it is.
TEST_P(Stopped, InsideALargeCollective) {
  Job job(3, backend());
  job.start_all([&](Group group) {
    group.barrier();
    group.set_timeout(limit);
    std::vector<std::int64_t> data = numbers(1 << 20, group.rank());
    std::int64_t begin = 0;
    const Error error = thrown_by([&] {
      for (;;) {
        begin = now_ns();
        group.all_sum(data);
        board.raise(inside);
      }
    });
    NEED_OR(error.kind() == ErrorKind::timed_out, error.what());
    NEED(group.rank() == 2 || ms_since(begin) <= latest);
  });
  board.await(inside, 9);
  std::this_thread::sleep_for(milliseconds(3));  // anywhere in it
  job.signal(2, SIGSTOP);
  job.expect_right({0, 1});
  job.signal(2, SIGCONT);
  job.expect_right();
}

// Stopped in the middle of a large message.
TEST_P(Stopped, InsideALargeMessage) {
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    group.barrier();
    std::vector<std::int64_t> data = numbers(1 << 22, group.rank());
    if (group.rank() == 0) {
      std::int64_t begin = 0;
      const Error error = thrown_by([&] {
        for (;;) {
          begin = now_ns();
          group.recv_into(data, 1, {.timeout = limit});
          board.raise(inside);
        }
      });
      NEED_OR(error.kind() == ErrorKind::timed_out && error.peer() == 1, error.what());
      NEED(ms_since(begin) <= latest);
      return;
    }
    const Error error = thrown_by([&] {
      for (;;) group.send(data, 0);
    });
    NEED_OR(error.kind() == ErrorKind::disconnected || error.kind() == ErrorKind::timed_out, error.what());
  });
  board.await(inside, 2);
  std::this_thread::sleep_for(milliseconds(5));
  job.signal(1, SIGSTOP);
  job.expect_right({0});
  job.signal(1, SIGCONT);
  job.expect_right();
}

// Stopped at any moment of set-up: the others are through, or run into the limit of set-up.
TEST_P(Stopped, DuringSetUp) {
  constexpr int moments = 10;
  constexpr int all_over = 2;
  std::vector<std::unique_ptr<Job>> jobs;
  for (int i = 0; i < moments; ++i) {
    Job::Environment environment{{"RONDO_INIT_TIMEOUT", "500ms"}, {"RONDO_LOG", "off"}};
    jobs.push_back(std::make_unique<Job>(3, backend(), environment));
    jobs.back()->start_processes([this](int rank) {
      const std::int64_t begin = now_ns();
      try {
        const Group group = init(true);
        if (rank == 2) board.await(all_over);  // where set-up is fast it is there before it is stopped
        if (rank != 2) need_timeout([&] { group.barrier({.timeout = limit}); });
      } catch (const Error& error) {
        if (rank == 2) return;  // it comes back when all is over
        NEED_OR(error.kind() == ErrorKind::timed_out || error.kind() == ErrorKind::unavailable, error.what());
        NEED_OR(ms_since(begin) <= latest,
                std::string(error.what()) + " after ms: " + std::to_string(ms_since(begin)));
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(600 * i));
    jobs.back()->signal(2, SIGSTOP);
  }
  for (const auto& job : jobs) job->expect_right({0, 1});
  board.raise(all_over);
  for (const auto& job : jobs) {
    job->signal(2, SIGCONT);
    (void)job->wait(2);
  }
}

// ---- those who come, but too slowly
// ------------------------------------------------------------------------

class Trickling : public OverBackends {};
OVER_ALL_BACKENDS(Trickling);

// One call, many messages, each well within the limit: the limit is that of the call.
TEST_P(Trickling, MessagesOfABatchDoNotProlongTheLimit) {
  const Board board;
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    group.barrier();
    constexpr std::size_t count = 60;
    std::vector<std::vector<std::int64_t>> data(count, std::vector<std::int64_t>(50));
    if (group.rank() == 0) {
      std::vector<Message> messages;
      for (std::size_t i = 0; i < count; ++i) messages.push_back(Recv{View(data[i]), 1, static_cast<int>(i)});
      const Error error = need_timeout([&] { group.batch(messages, {.timeout = limit}); });
      NEED(error.peer() == 1);
      NEED(data[1] == numbers(50, 1) && data[count - 1] == std::vector<std::int64_t>(50));
      board.raise(0);
      return;
    }
    for (std::size_t i = 0; i < count && board.count(0) == 0; ++i) {
      group.send(numbers(50, static_cast<std::int64_t>(i)), 0, {.tag = static_cast<int>(i)});
      std::this_thread::sleep_for(milliseconds(40));  // dawdles
    }
  });
  job.expect_right();
}

/// A process that runs for a moment now and then, so that its bytes trickle. Over too when rank 0 has ended,
/// as it does when something is not as it must be.
void dawdle_until(Job& job, int rank, const std::function<bool()>& over) {
  while (!over() && !job.ended(0)) {
    job.signal(rank, SIGSTOP);
    std::this_thread::sleep_for(milliseconds(120));
    job.signal(rank, SIGCONT);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

TEST_P(Trickling, BytesOfALargeMessageDoNotProlongTheLimit) {
  const Board board;
  // The memory of a process that dawdles can be read all the same.
  Job job(2, backend(), {{"RONDO_SINGLE_COPY_BYTES", "0"}});
  job.start_all([&](const Group& group) {
    std::vector<std::int64_t> data = numbers(1 << 25, group.rank());
    group.barrier();
    board.raise(inside);
    try {
      if (group.rank() == 0) {
        need_timeout([&] { group.recv_into(data, 1, {.timeout = limit}); });
        board.raise(stopped);
      } else {
        group.send(data, 0);
      }
    } catch (const Error& error) {
      NEED_OR(group.rank() == 1, error.what());
    }
  });
  board.await(inside, 2);
  dawdle_until(job, 1, [&] { return board.count(stopped) > 0; });
  job.expect_right();
}

TEST_P(Trickling, BytesOfALargeCollectiveDoNotProlongTheLimit) {
  const Board board;
  Job job(3, backend());
  job.start_all([&](const Group& group) {
    std::vector<std::int64_t> data = numbers(1 << 23, group.rank());
    group.barrier();
    board.raise(inside);
    if (group.rank() == 2) {
      const Error error = thrown_by([&] { group.all_sum(data); });
      NEED_OR(error.kind() == ErrorKind::timed_out, error.what());
      return;
    }
    need_timeout([&] { group.all_sum(data, {.timeout = limit}); });
    board.raise(stopped);
  });
  board.await(inside, 3);
  dawdle_until(job, 2, [&] { return board.count(stopped) > 1; });
  job.expect_right();
}

// ---- abort
// -------------------------------------------------------------------------------------------------

class Abort : public OverBackends {};
OVER_ALL_BACKENDS(Abort);

/// One run; the longest time in ms from abort() on rank 1 to the end of a blocked call, by rank.
std::int64_t slowest_of_three(Backend backend) {
  const Board board;
  Job job(3, backend);
  job.start_all([&](const Group& group) {
    std::vector<std::int64_t> data = numbers(1 << 20, group.rank());
    group.barrier();
    std::thread other;
    if (group.rank() == 1) {
      other = std::thread([&] {
        board.await(inside, 3);
        std::this_thread::sleep_for(milliseconds(50));  // by now all are blocked, and asleep
        board.value(3) = now_ns();
        group.abort("enough");
      });
    }
    board.raise(inside);
    const Error error = thrown_by([&] {
      if (group.rank() == 0) group.all_sum(data);
      if (group.rank() == 1) group.recv_into(data, 2);
      if (group.rank() == 2) group.send(data, 0);
    });
    board.value(group.rank()) = now_ns();
    if (other.joinable()) other.join();
    NEED_OR(error.kind() == ErrorKind::aborted && error.peer() == 1 && names(error, "enough"), error.what());
    need_all_calls_to_fail(group, ErrorKind::aborted, 1);
  });
  job.expect_right();
  std::int64_t slowest = 0;
  for (const int rank : {0, 1, 2}) {
    slowest = std::max(slowest, (board.value(rank) - board.value(3)) / 1'000'000);
  }
  return slowest;
}

TEST_P(Abort, FromAnotherThreadFreesWhoIsBlockedHereAndThere) {
  // 100 ms where the machine is quiet; a busy one gets another two chances to be.
  std::int64_t best = slowest_of_three(backend());
  for (int more = 0; more < 2 && best > 100; ++more) best = std::min(best, slowest_of_three(backend()));
  EXPECT_LE(best, 100);
}

TEST_P(Abort, OfAPartLeavesTheWholeAlone) {
  const Board board;
  Job job(4, backend());
  job.start_all([&](const Group& group) {
    const auto half = group.split(group.rank() / 2);
    if (group.rank() == 0) half->abort("this half is done");
    if (group.rank() == 1) {
      const Error error = thrown_by([&] { half->barrier(); });
      NEED_OR(error.kind() == ErrorKind::aborted && error.peer() == 0, error.what());
    }
    if (group.rank() >= 2) half->barrier();
    std::vector<std::int64_t> data = numbers(1000, group.rank());
    group.all_sum(data);
    NEED(data == summed_numbers(1000, 0, 4));
    NEED(!group.failure());
  });
  job.expect_right();
}

}  // namespace
}  // namespace rondo::test
