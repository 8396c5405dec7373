// Ranks that read each other's memory, and ranks whom the system forbids it: the same results.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <functional>

#include "backends.hpp"

namespace rondo::test {
namespace {

constexpr int size = 3;
constexpr int ready = 0;  // a flag of the board

// From now on the system refuses to read other processes for this one.
void forbid_reading() {
  const std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  sock_fprog all{static_cast<unsigned short>(program.size()), const_cast<sock_filter*>(program.data())};
  NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0);
  NEED(process_vm_readv(getpid(), nullptr, 0, nullptr, 0, 0) == -1 && errno == EPERM);
}

// Counts around the default of 32 KiB (4096 numbers), around a piece of 1 MiB, and larger.
constexpr std::array<std::size_t, 9> counts{0, 1, 4095, 4096, 4097, 131'071, 131'073, 300'007, 1'000'003};

void pass_around(const Group& group) {
  const int next = (group.rank() + 1) % size;
  const int previous = (group.rank() + size - 1) % size;
  for (const std::size_t count : counts) {
    const auto salt = static_cast<std::int64_t>(count);
    std::vector<std::int64_t> got(count);
    group.sendrecv(numbers(count, salt + group.rank()), next, std::span(got), previous);
    NEED_OR(got == numbers(count, salt + previous), std::to_string(count));

    for (int root = 0; root < size; ++root) {
      std::vector<std::int64_t> data = numbers(count, salt + group.rank());
      group.broadcast(data, root);
      NEED_OR(data == numbers(count, salt + root), std::to_string(count));

      const auto parts = numbers(size * count, salt + root);
      group.scatter(group.rank() == root ? ConstView(parts) : ConstView(std::span(parts).first(0)),
                    View(data), root);
      const auto mine = std::span(parts).subspan(static_cast<std::size_t>(group.rank()) * count, count);
      NEED_OR(std::equal(data.begin(), data.end(), mine.begin(), mine.end()), std::to_string(count));
    }
    std::vector<std::int64_t> sum = numbers(count, salt + group.rank());
    group.all_sum(sum);
    NEED_OR(sum == summed_numbers(count, salt, size), std::to_string(count));
  }
}

TEST(SingleCopy, SizesAroundEveryLimit) {
  for (const char* const from : {"0", "1", "32KiB", "1MiB"}) {
    SCOPED_TRACE(from);
    Job job(size, Backend::shm, {{"RONDO_SINGLE_COPY_BYTES", from}});
    job.start_all(pass_around);
    job.expect_right();
  }
}

TEST(SingleCopy, WhereTheSystemForbidsItEverythingGoesThroughSharedMemory) {
  for (int odd = 0; odd < size; ++odd) {
    SCOPED_TRACE(odd);
    Job job(size, Backend::shm, {{"RONDO_SINGLE_COPY_BYTES", "1"}});
    job.start_processes([&](int rank) {
      if (rank == odd) forbid_reading();
      const Group group = init(true);
      pass_around(group);
      group.shutdown();
    });
    job.expect_right();
  }
}

TEST(SingleCopy, RanksThatDisagreeAboutItAreTold) {
  Job job(2, Backend::shm);
  job.start_processes([&](int rank) {
    setenv("RONDO_SINGLE_COPY_BYTES", rank == 0 ? "0" : "32KiB", 1);
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(error.kind() == ErrorKind::mismatch, error.what());
    NEED_OR(std::string(error.what()).find("RONDO_SINGLE_COPY_BYTES=32768") != std::string::npos,
            error.what());
  });
  job.expect_right();
}

// The sender gives up while the receiver may be reading, at every distance between the two.
TEST(SingleCopy, ASenderThatGivesUpIsReceivedWholeOrNotAtAll) {
  constexpr std::size_t count = 2'000'003;
  constexpr int rounds = 60;
  Job job(2, Backend::shm);
  job.start_all([&](const Group& group) {
    for (int round = 0; round < rounds; ++round) {
      if (group.rank() == 0) {
        std::vector<std::int64_t> data = numbers(count, 2 * round);
        {
          Request sending = group.isend(ConstView(data), 1, {.tag = 1});
          group.send(numbers(1, round), 1, {.tag = 2});
          const std::int64_t until = now_ns() + round * 50'000;
          while (now_ns() < until) continue;
          sending.cancel();
        }
        data.assign(count, -1);  // what is read from now on is wrong
        group.send(numbers(count, 2 * round + 1), 1, {.tag = 1});
      } else {
        std::vector<std::int64_t> note(1);
        group.recv_into(note, 0, {.tag = 2});
        std::vector<std::int64_t> got(count);
        group.recv_into(got, 0, {.tag = 1});
        if (got == numbers(count, 2 * round)) group.recv_into(got, 0, {.tag = 1});
        NEED_OR(got == numbers(count, 2 * round + 1), std::to_string(round));
      }
    }
  });
  job.expect_right();
}

TEST(SingleCopy, ASenderKilledWhileItIsReadEndsTheReceive) {
  const Board board;
  Job job(2, Backend::shm);
  job.start_all([&](const Group& group) {
    const std::vector<std::int64_t> data = numbers(8'000'000, group.rank());
    if (group.rank() == 0) {
      for (int round = 0;; ++round) {
        group.send(data, 1);
        board.raise(ready);
      }
    }
    std::vector<std::int64_t> got(data.size());
    const Error error = thrown_by([&] {
      for (;;) {
        group.recv_into(got, 0);
        NEED(got.back() == numbers(data.size(), 0).back());
      }
    });
    NEED_OR(error.kind() == ErrorKind::disconnected && error.peer() == 0, error.what());
  });
  board.await(ready, 2);
  job.signal(0, SIGKILL);
  EXPECT_EQ(job.wait(0), -SIGKILL);
  job.expect_right({1});
}

// ---- tensors that ranks share
// ------------------------------------------------------------------------------

Tensor shared_numbers(const Group& group, std::size_t count, std::int64_t salt) {
  Tensor tensor = group.allocate<std::int64_t>({static_cast<std::int64_t>(count)});
  const auto values = numbers(count, salt);
  std::copy(values.begin(), values.end(), tensor.span<std::int64_t>().begin());
  return tensor;
}

bool holds(const Tensor& tensor, const std::vector<std::int64_t>& expected) {
  const auto values = tensor.span<std::int64_t>();
  return std::equal(values.begin(), values.end(), expected.begin(), expected.end());
}

// Every collective, with `shares(rank)` telling whose tensors are shared.
void all_collectives(const Group& group, std::size_t count, const std::function<bool(int)>& shares) {
  const int n = group.size();
  const auto ranks = static_cast<std::size_t>(n);
  const auto salt = static_cast<std::int64_t>(count);
  const auto make = [&](std::size_t elements, std::int64_t of) {
    return shares(group.rank()) ? shared_numbers(group, elements, of)
                                : Tensor(numbers(elements, of), {static_cast<std::int64_t>(elements)});
  };
  const auto own = [&] { return make(count, salt + group.rank()); };
  const std::vector<std::int64_t> sum = summed_numbers(count, salt, n);
  const auto part = [&](const std::vector<std::int64_t>& whole, int rank, std::size_t size_of_part) {
    const auto begin =
        whole.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * size_of_part);
    return std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(size_of_part));
  };
  for (int twice = 0; twice < 2; ++twice) {
    Tensor in = own();
    Tensor out = make(count, 77);
    group.all_sum(in.view(), out.view());
    NEED(holds(out, sum) && holds(in, numbers(count, salt + group.rank())));
    group.all_sum(in.view());
    NEED(holds(in, sum));

    Tensor all = make(ranks * count, 77);
    group.all_gather(own().view(), all.view());
    std::vector<std::int64_t> gathered;
    for (int r = 0; r < n; ++r) {
      const auto theirs = numbers(count, salt + r);
      gathered.insert(gathered.end(), theirs.begin(), theirs.end());
    }
    NEED(holds(all, gathered));

    Tensor parts = make(ranks * count, salt + group.rank());
    Tensor mine = make(count, 77);
    group.reduce_scatter(parts.view(), mine.view(), ReduceOp::sum);
    NEED(holds(mine, part(summed_numbers(ranks * count, salt, n), group.rank(), count)));
    Tensor exchanged = make(ranks * count, 77);
    group.all_to_all(parts.view(), exchanged.view());
    std::vector<std::int64_t> expected;
    for (int r = 0; r < n; ++r) {
      const auto theirs = part(numbers(ranks * count, salt + r), group.rank(), count);
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    NEED(holds(exchanged, expected));

    for (int root = 0; root < n; ++root) {
      const bool at_root = group.rank() == root;
      Tensor data = own();
      group.broadcast(data.view(), root);
      NEED(holds(data, numbers(count, salt + root)));
      Tensor reduced = make(count, 77);
      group.reduce(own().view(), reduced.view(), ReduceOp::sum, root);
      NEED(!at_root || holds(reduced, sum));
      Tensor everything = make(ranks * count, 77);
      group.gather(own().view(), everything.view(), root);
      NEED(!at_root || holds(everything, gathered));
      group.scatter(parts.view(), mine.view(), root);
      NEED(holds(mine, part(numbers(ranks * count, salt + root), group.rank(), count)));
    }
  }
}

TEST(SharedTensors, GiveTheSameResultsWhoeverHasThem) {
  for (const int ranks : {2, 3, 4}) {
    SCOPED_TRACE(ranks);
    Job job(ranks, Backend::shm, {{"RONDO_SINGLE_COPY_BYTES", "4KiB"}});
    job.start_all([&](const Group& group) {
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{511}, std::size_t{513},
                                      std::size_t{8191}, std::size_t{70'001}, std::size_t{600'011}}) {
        all_collectives(group, count, [](int) { return true; });
        all_collectives(group, count, [](int rank) { return rank != 1; });
        all_collectives(group, count, [](int rank) { return rank == 1; });
      }
      // What one group has allocated suits the others of the job.
      const auto half = group.split(group.rank() % 2);
      if (half->size() > 1) {
        Tensor in = shared_numbers(group, 50'000, half->rank());
        half->all_sum(in.view());
        NEED(holds(in, summed_numbers(50'000, 0, half->size())));
      }
    });
    job.expect_right();
  }
}

TEST(SharedTensors, OverTcpTheyAreTensorsLikeAnyOther) {
  Job job(3, Backend::tcp);
  job.start_all([](const Group& group) {
    all_collectives(group, 9001, [](int) { return true; });
    const Tensor zeros = group.allocate<float>({3, 0, 4});
    NEED(zeros.shape() == (Shape{3, 0, 4}) && zeros.bytes() == 0);
  });
  job.expect_right();
}

TEST(SharedTensors, AreZeroAndOutliveTheGroup) {
  Job job(2, Backend::shm);
  job.start_all([](const Group& group) {
    Tensor kept = [&] {
      const auto part = group.split(0);
      Tensor inner = part->allocate<float>({1000, 10});
      part->shutdown();
      return inner;
    }();
    for (const float each : kept.span<float>()) NEED(each == 0);
    group.shutdown();
    kept.span<float>()[9999] = 5;
    NEED(kept.clone().span<float>()[9999] == 5);
    const Error error = thrown_by([&] { (void)group.allocate<float>({1}); });
    NEED_OR(std::string(error.what()).find("allocate") != std::string::npos, error.what());
  });
  job.expect_right();
}

TEST(SharedTensors, WhatCannotBeHadIsAnErrorInWords) {
  Job job(2, Backend::shm);
  job.start_all([](const Group& group) {
    const Error error = thrown_by([&] { (void)group.allocate(DType::float64, {std::int64_t{1} << 45}); });
    NEED_OR(error.kind() == ErrorKind::unavailable, error.what());
    NEED_OR(std::string(error.what()).find("bytes of shared memory are needed") != std::string::npos,
            error.what());
    NEED(thrown_by([&] { (void)group.allocate(DType::float64, {-1}); }).kind() ==
         ErrorKind::invalid_argument);
    group.barrier();  // it goes on
  });
  job.expect_right();
}

TEST(SharedTensors, ARankKilledInsideACollectiveIsNamed) {
  const Board board;
  Job job(3, Backend::shm);
  job.start_all([&](const Group& group) {
    Tensor data = shared_numbers(group, 1'000'000, group.rank());
    const Error error = thrown_by([&] {
      for (;;) {
        group.all_sum(data.view());
        board.raise(ready);
      }
    });
    NEED_OR(error.kind() == ErrorKind::disconnected && error.peer() == 1, error.what());
  });
  board.await(ready, 6);
  job.signal(1, SIGKILL);
  EXPECT_EQ(job.wait(1), -SIGKILL);
  job.expect_right({0, 2});
}

}  // namespace
}  // namespace rondo::test
