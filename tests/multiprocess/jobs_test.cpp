// Real processes, started and described as a user would: by the environment.

#include <numeric>
#include <random>

#include "multiprocess/backends.hpp"

namespace rondo::test {
namespace {

class Processes : public OverBackends {};
OVER_ALL_BACKENDS(Processes);

TEST_P(Processes, AddUpAndSend) {
  constexpr int size = 4;
  Job job(size, backend());
  job.start_all([&](const Group& group) {
    NEED(group.backend() == backend() && group.size() == size && group.local_size() == size);
    NEED(group.local_rank() == group.rank());
    std::vector<std::int64_t> values(100'003);
    std::iota(values.begin(), values.end(), group.rank());
    group.all_sum(values);
    for (std::size_t i = 0; i < values.size(); ++i)
      NEED(values[i] == static_cast<std::int64_t>(size * i + 6));
    const int next = (group.rank() + 1) % size;
    const int previous = (group.rank() + size - 1) % size;
    const auto out = numbers(100'000, group.rank());
    std::vector<std::int64_t> in(out.size());
    group.sendrecv(out, next, in, previous);
    NEED(in == numbers(out.size(), previous));
    const auto half = group.split(group.rank() % 2);
    const Tensor sum = half->all_sum(Tensor::scalar(group.rank()));
    NEED(sum.span<int>()[0] == (group.rank() % 2 == 0 ? 2 : 4));
  });
  job.expect_right();
  job.expect_clean();
}

// Rank 0 is dead and buried before the others go on, in the group and in one that was split from it.
TEST_P(Processes, ARankThatEndsEarlyDisturbsNobody) {
  constexpr int size = 4;
  const Board board;
  Job job(size, backend());
  job.start_all([&](const Group& group) {
    const auto rest = group.split(group.rank() == 0 ? -1 : 0);
    const auto data = numbers(20'000, 7);
    if (group.rank() == 0) {
      group.send(std::span(data).first(100), 1);
      group.send(data, 2);
      return;
    }
    if (group.rank() == 2) {
      std::vector<std::int64_t> got(20'000);
      group.recv_into(got, 0);
      NEED(got == data);
    }
    board.await(0);
    if (group.rank() == 1) {  // what was sent still arrives
      std::vector<std::int64_t> got(100);
      group.recv_into(got, 0);
      NEED(std::equal(got.begin(), got.end(), data.begin()));
    }
    for (int round = 0; round < 300; ++round) {
      std::vector<std::int64_t> sum = numbers(1000, round + rest->rank());
      rest->all_sum(sum);
      NEED(sum == summed_numbers(1000, round, size - 1));
      if (group.rank() == 1) continue;
      std::vector<std::int64_t> in(300);
      const int peer = 5 - group.rank();
      group.sendrecv(numbers(300, round + group.rank()), peer, in, peer);
      NEED(in == numbers(300, round + peer));
    }
  });
  EXPECT_EQ(job.wait(0), right) << job.words(0);
  board.raise(0);
  job.expect_right();
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(job.words(rank), "") << "rank " << rank;
  job.expect_clean();
}

// A call that needs the rank that has left is an error of its own, at once.
TEST_P(Processes, ACallThatNeedsARankThatHasLeftFailsAtOnce) {
  const Board board;
  Job job(3, backend());
  job.start_all([&](const Group& group) {
    if (group.rank() == 0) return;
    board.await(0);
    std::vector<std::int64_t> data(100);
    const std::int64_t begin = now_ns();
    const Error error = thrown_by([&] { group.recv_into(data, 0); });
    NEED_OR(error.kind() == ErrorKind::disconnected && error.peer() == 0, error.what());
    NEED(ms_since(begin) < 1000);
    NEED(!group.failure());
    std::vector<std::int64_t> in(100);
    const int peer = 3 - group.rank();
    group.sendrecv(numbers(100, group.rank()), peer, in, peer);
    NEED(in == numbers(100, peer));
  });
  EXPECT_EQ(job.wait(0), right) << job.words(0);
  board.raise(0);
  job.expect_right();
}

TEST_P(Processes, BothSidesSendFirst) {
  constexpr std::size_t count = (std::size_t{64} << 20) / sizeof(std::int64_t);
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    const int peer = 1 - group.rank();
    const auto out = numbers(count, group.rank());
    std::vector<std::int64_t> in(count);
    group.sendrecv(out, peer, in, peer);
    NEED(in == numbers(count, peer));
    std::fill(in.begin(), in.end(), 0);
    Request sending = group.isend(out, peer, {.tag = 3});
    Request receiving = group.irecv(in, peer, {.tag = 3});
    sending.wait();
    receiving.wait();
    NEED(in == numbers(count, peer));
  });
  job.expect_right();
}

// Half of them meet in folders, half at ports.
TEST_P(Processes, TwentyJobsAtOnce) {
  constexpr int count = 20;
  const Leftovers before;
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<HeldPort> ports(count / 2);
  for (int i = 0; i < count; ++i) {
    const int size = 2 + i % 3 / 2;
    Job::Environment environment;
    if (i % 2 == 1) environment["RONDO_RENDEZVOUS"] = ports[static_cast<std::size_t>(i / 2)].place();
    jobs.push_back(std::make_unique<Job>(size, backend(), environment));
    jobs.back()->start_all([&](const Group& group) {
      NEED(group.size() == size);
      for (int round = 0; round < 50; ++round) {
        std::vector<std::int64_t> sum = numbers(1000, 100 * i + round + group.rank());
        group.all_sum(sum);
        NEED(sum == summed_numbers(1000, 100 * i + round, size));
      }
    });
  }
  for (const auto& job : jobs) {
    job->expect_right();
    job->expect_clean();
  }
  before.expect_none();
}

// A wait that ends before its first byte leaves the pair in step.
TEST_P(Processes, AThousandTimedOutWaitsEachFollowedByARightOne) {
  constexpr int rounds = 1000;
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    const int peer = 1 - group.rank();
    std::vector<std::int64_t> data(20);
    for (int round = 0; round < rounds; ++round) {
      if (group.rank() == 0) {
        const Error error = thrown_by(
            [&] { group.recv_into(data, peer, {.tag = 5, .timeout = std::chrono::microseconds(200)}); });
        NEED_OR(error.kind() == ErrorKind::timed_out && error.peer() == 1, error.what());
        group.send(std::span(data).first(1), peer);
        group.recv_into(data, peer, {.tag = 5});
        NEED(data == numbers(20, round));
      } else {
        group.recv_into(std::span(data).first(1), peer);
        group.send(numbers(20, round), peer, {.tag = 5});
      }
    }
    group.barrier();
  });
  job.expect_right();
}

// The same for offers: a large send that nobody takes is withdrawn.
TEST_P(Processes, LargeSendsThatNobodyTakesAreWithdrawn) {
  constexpr int rounds = 100;
  constexpr std::size_t count = 100'000;
  const Board board;
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    const auto data = numbers(count, 0);
    std::vector<std::int64_t> got(count);
    for (int round = 0; round < rounds; ++round) {
      if (group.rank() == 0) {
        const Error error =
            thrown_by([&] { group.send(data, 1, {.tag = 5, .timeout = std::chrono::microseconds(300)}); });
        NEED_OR(error.kind() == ErrorKind::timed_out && error.peer() == 1, error.what());
        board.raise(0);
        group.send(numbers(count, round), 1, {.tag = 5});
      } else {
        board.await(0, static_cast<std::uint32_t>(round) + 1);
        group.recv_into(got, 0, {.tag = 5});
        NEED(got == numbers(count, round));
      }
    }
  });
  job.expect_right();
}

}  // namespace
}  // namespace rondo::test
