#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/jobs.hpp"
#include "base/problem.hpp"
#include "rendezvous/local.hpp"
#include "rondo/group.hpp"

namespace {

using namespace rondo;
using namespace std::chrono_literals;

/// Far less than the limit of a call, far more than anything takes that works.
constexpr Duration soon = 30s;

using Ranks = std::vector<std::optional<Group>>;

Ranks make(int size, const Config& config) {
  Ranks groups;
  for (auto& each : backend::job_group(size, config)) groups.emplace_back(Group(std::move(each)));
  return groups;
}

/// Over sockets, and over shared memory.
class JobGroup : public testing::TestWithParam<Backend> {
 protected:
  Ranks job(int size, Config config = {}) const {
    config.backend = GetParam();
    return make(size, config);
  }
};
INSTANTIATE_TEST_SUITE_P(Wires, JobGroup, testing::Values(Backend::tcp, Backend::shm),
                         [](const auto& each) { return std::string(to_string(each.param)); });

/// Runs `main` once per rank, each on a thread of its own, which drops its handle at the end.
void run(Ranks groups, const std::function<void(Group)>& main) {
  std::vector<std::thread> threads;
  for (auto& each : groups) {
    threads.emplace_back([&main, group = std::exchange(each, {})]() mutable {
      try {
        main(*std::exchange(group, {}));
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& each : threads) each.join();
}

std::optional<Error> error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error came";
  return std::nullopt;
}

void expect_error(const std::optional<Error>& error, ErrorKind kind, const std::string& part) {
  if (!error) return;  // told already
  EXPECT_EQ(error->kind(), kind) << error->what();
  EXPECT_NE(std::string(error->what()).find(part), std::string::npos) << error->what();
  EXPECT_LT(error->elapsed(), soon) << error->what();
}

/// Elements that differ from place to place and from seed to seed.
std::vector<std::int32_t> numbers(std::size_t count, int seed) {
  std::vector<std::int32_t> all(count);
  std::iota(all.begin(), all.end(), seed * 1'000'003);
  return all;
}

std::vector<std::int32_t> elements_of(const Tensor& tensor) {
  const auto all = tensor.span<std::int32_t>();
  return {all.begin(), all.end()};
}

/// The sum over all ranks of what `base + rank` gives, checked.
void expect_sum(const Group& group, int base) {
  std::vector<std::int64_t> data{base + group.rank(), 10 * (base + group.rank())};
  group.all_sum(View(data));
  const std::int64_t n = group.size();
  const std::int64_t sum = n * base + n * (n - 1) / 2;
  EXPECT_EQ(data, (std::vector<std::int64_t>{sum, 10 * sum}));
}

TEST_P(JobGroup, tells_who_it_is) {
  run(job(3), [](const Group& group) {
    EXPECT_EQ(group.size(), 3);
    EXPECT_EQ(group.backend(), GetParam());
    EXPECT_EQ(group.local_rank(), group.rank());
    EXPECT_EQ(group.local_size(), 3);
    expect_sum(group, 100);
  });
}

// --- how a group ends ------------------------------------------------------------------------------------

TEST_P(JobGroup, abort_frees_who_waits_in_a_receive) {
  run(job(3), [](const Group& group) {
    if (group.rank() == 0) {
      (void)group.recv<std::int32_t>({1}, 1);
      (void)group.recv<std::int32_t>({1}, 2);
      group.abort("the disk of 17 is full");
      expect_error(error_of([&] { group.barrier(); }), ErrorKind::aborted, "the disk of 17 is full");
    } else {
      group.send(numbers(1, group.rank()), 0);
      const auto error = error_of([&] { (void)group.recv<std::int32_t>({4}, 3 - group.rank()); });
      expect_error(error, ErrorKind::aborted, "rank 0 aborted the group: the disk of 17 is full");
      EXPECT_EQ(error ? error->peer() : -1, 0);
    }
    const Failure cause{ErrorKind::aborted, 0, "rank 0 aborted the group: the disk of 17 is full"};
    EXPECT_EQ(group.failure(), cause);
  });
}

TEST_P(JobGroup, abort_frees_who_waits_in_a_collective) {
  for (const std::size_t count : {std::size_t{5}, std::size_t{3'000'000}}) {
    run(job(4), [count](const Group& group) {
      if (group.rank() == 2) {
        for (const int from : {0, 1, 3}) (void)group.recv<std::int32_t>({1}, from);
        group.abort("no more of 42");
        return;
      }
      group.send(numbers(1, group.rank()), 2);
      auto data = numbers(count, group.rank());
      expect_error(error_of([&] { group.all_sum(View(data)); }), ErrorKind::aborted, "no more of 42");
      expect_error(error_of([&] { group.barrier(); }), ErrorKind::aborted, "no more of 42");
    });
  }
}

TEST_P(JobGroup, what_one_rank_finds_wrong_is_told_to_all) {
  std::vector<std::optional<Failure>> heard(4);
  run(job(4), [&heard](const Group& group) {
    // Over tcp only the last rank can see it: it is sent three elements and wants five. Over shm all can, and
    // one of them is first.
    std::vector<std::int32_t> data = numbers(group.rank() == 3 ? 5 : 3, 7);
    const auto error = error_of([&] {
      group.broadcast(View(data), 0);
      group.barrier();
    });
    expect_error(error, ErrorKind::mismatch, "");
    heard[static_cast<std::size_t>(group.rank())] = group.failure();
  });
  ASSERT_TRUE(heard[3].has_value());
  EXPECT_EQ(heard[3]->kind, ErrorKind::mismatch);
  if (GetParam() == Backend::tcp) {
    EXPECT_EQ(heard[3]->rank, 3);
  }
  for (const auto& each : heard) EXPECT_EQ(each, heard[3]) << (each ? each->text : "nothing");
}

TEST_P(JobGroup, who_drops_its_handle_says_goodbye) {
  for (const std::size_t eager : {std::size_t{1000}, std::size_t{32} << 20U}) {
    SCOPED_TRACE(eager);
    Config config;
    config.eager_bytes = eager;
    config.credit_bytes = std::size_t{64} << 20U;
    constexpr std::int64_t large = 1'500'000;
    run(job(2, config), [](const Group& group) {
      if (group.rank() == 0) {
        for (int i = 0; i < 3; ++i) group.send(numbers(5, i), 1);
        group.send(numbers(large, 3), 1);
        group.send(numbers(large, 4), 1, {.tag = 6});
        group.send(numbers(1, 5), 1);
        return;
      }
      for (int i = 0; i < 3; ++i) EXPECT_EQ(elements_of(group.recv<std::int32_t>({5}, 0)), numbers(5, i));
      EXPECT_TRUE(elements_of(group.recv<std::int32_t>({large}, 0)) == numbers(large, 3));
      EXPECT_TRUE(elements_of(group.recv<std::int32_t>({large}, 0, {.tag = 6})) == numbers(large, 4));
      EXPECT_EQ(elements_of(group.recv<std::int32_t>({1}, 0)), numbers(1, 5));
      expect_error(error_of([&] { (void)group.recv<std::int32_t>({1}, 0); }), ErrorKind::disconnected,
                   "rank 0 left the group");
      expect_error(error_of([&] { group.barrier(); }), ErrorKind::disconnected, "rank 0 left the group");
    });
  }
}

TEST_P(JobGroup, a_goodbye_does_not_disturb_the_others) {
  run(job(3), [](const Group& group) {
    if (group.rank() == 2) return;
    const int other = 1 - group.rank();
    expect_error(error_of([&] { (void)group.recv<std::int32_t>({1}, 2); }), ErrorKind::disconnected,
                 "rank 2 left the group");
    for (int i = 0; i < 20; ++i) {
      const Tensor got = group.sendrecv(numbers(1000, 10 * group.rank() + i), {1000}, other);
      EXPECT_EQ(elements_of(got), numbers(1000, 10 * other + i));
    }
    EXPECT_FALSE(group.failure().has_value());
  });
}

// --- several groups --------------------------------------------------------------------------------------

TEST_P(JobGroup, parts_of_a_group_are_independent) {
  run(job(4), [](const Group& group) {
    const bool even = group.rank() % 2 == 0;
    std::optional<Group> part = group.split(even ? 0 : 1, -group.rank() + 10);
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->size(), 2);
    EXPECT_EQ(part->rank(), group.rank() < 2 ? 1 : 0);  // the keys turn them round
    expect_sum(*part, even ? 1000 : 2000);
    if (even) {
      if (part->rank() == 0) {
        (void)part->recv<std::int32_t>({1}, 1);  // the other one has its sum
        part->abort("only the even");
      } else {
        part->send(numbers(1, 8), 0);
      }
      expect_error(error_of([&] { (void)part->recv<std::int32_t>({1}, 1 - part->rank()); }),
                   ErrorKind::aborted, "only the even");
    }
    group.barrier();
    if (!even) {
      for (int i = 0; i < 10; ++i) expect_sum(*part, 3000 + i);
      EXPECT_FALSE(part->failure().has_value());
    }
    expect_sum(group, 5);
    const auto again = group.subgroup({3, 1, 0});
    EXPECT_EQ(again.has_value(), group.rank() != 2);
    if (again) expect_sum(*again, 70);
    expect_sum(group, 6);
  });
}

TEST_P(JobGroup, a_part_outlives_the_group_it_came_from) {
  run(job(3), [](Group group) {
    std::optional<Group> part = group.split(0);
    {
      const Group gone = std::move(group);
      gone.shutdown();
    }
    ASSERT_TRUE(part.has_value());
    for (int i = 0; i < 5; ++i) expect_sum(*part, 30 + i);
  });
}

TEST_P(JobGroup, two_jobs_at_once_do_not_meet) {
  const auto one_job = [this](int size, int base) {
    run(job(size), [base](const Group& group) {
      for (int i = 0; i < 30; ++i) {
        expect_sum(group, base + i);
        const int to = (group.rank() + 1) % group.size();
        const int from = (group.rank() + group.size() - 1) % group.size();
        std::vector<std::int32_t> got(50);
        group.sendrecv(numbers(50, base + group.rank()), to, View(got), from);
        EXPECT_EQ(got, numbers(50, base + from));
      }
    });
  };
  std::thread other([&] { one_job(3, 100); });
  one_job(3, 900);
  other.join();
}

// --- wires over tcp --------------------------------------------------------------------------------------

std::vector<int> open_sockets() {
  std::vector<int> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto what = std::filesystem::read_symlink(each.path(), gone).string();
    if (!gone && what.starts_with("socket:")) found.push_back(std::stoi(each.path().filename().string()));
  }
  return found;
}

/// The threads of a job, all of whose sockets are in this process, count them together.
class Census {
 public:
  explicit Census(int ranks) : barrier_(ranks) {}
  /// Every rank calls it; `check` sees how many there are while nobody does anything else.
  void take(const Group& group, const std::function<void(int)>& check) {
    barrier_.arrive_and_wait();
    if (group.rank() == 0) check(static_cast<int>(open_sockets().size()));
    barrier_.arrive_and_wait();
  }

 private:
  std::barrier<> barrier_;
};

Ranks tcp_job(int size, Config config = {}) {
  config.backend = Backend::tcp;
  return make(size, config);
}

TEST(TcpWires, message_wires_are_made_at_the_first_message_of_a_pair) {
  constexpr int size = 4;
  constexpr int pairs = size * (size - 1) / 2;
  Census census(size);
  int before = 0;  // seen by rank 0
  run(tcp_job(size), [&](const Group& group) {
    group.barrier();
    census.take(group, [&](int count) { before = count; });
    std::optional<Group> part = group.split(0);
    expect_sum(*part, 10);
    // Two ends of one connection per pair.
    census.take(group, [&](int count) { EXPECT_EQ(count - before, 2 * pairs); });
    if (group.rank() == 1) {
      for (int i = 0; i < 3; ++i) part->send(numbers(10, i), 3);
      EXPECT_TRUE(elements_of(part->recv<std::int32_t>({300'000}, 3)) == numbers(300'000, 44));
    }
    if (group.rank() == 3) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(elements_of(part->recv<std::int32_t>({10}, 1)), numbers(10, i));
      part->send(numbers(300'000, 44), 1);
    }
    expect_sum(*part, 11);
    census.take(group, [&](int count) { EXPECT_EQ(count - before, 2 * pairs + 2); });
    part.reset();
    census.take(group, [&](int count) { EXPECT_EQ(count, before); });
    // Both of a pair begin at once, all pairs at once.
    for (int other = 0; other < size; ++other) {
      if (other == group.rank()) continue;
      const Tensor got = group.sendrecv(numbers(50, 10 * group.rank() + other), {50}, other);
      EXPECT_EQ(elements_of(got), numbers(50, 10 * other + group.rank()));
    }
    group.barrier();
    census.take(group, [&](int count) { EXPECT_EQ(count - before, 2 * pairs); });
  });
}

TEST(TcpWires, who_leaves_without_a_message_is_missed_by_who_waits_for_one) {
  for (const int leaver : {0, 1}) {
    run(tcp_job(2), [leaver](const Group& group) {
      group.barrier();
      if (group.rank() == leaver) return;
      expect_error(error_of([&] { (void)group.recv<std::int32_t>({1}, leaver); }), ErrorKind::disconnected,
                   fmt::format("rank {} left the group", leaver));
      expect_error(error_of([&] { group.send(numbers(1, 1), leaver); }), ErrorKind::disconnected,
                   fmt::format("rank {} left the group", leaver));
      EXPECT_FALSE(group.failure().has_value());
    });
  }
}

// A part of a collective that nobody has asked for yet stands before the goodbye on its wire.
TEST(TcpWires, the_word_of_who_leaves_does_not_wait_behind_a_collective) {
  run(tcp_job(2), [](const Group& group) {
    std::vector<std::int32_t> data = numbers(100, 3);
    if (group.rank() == 0) {
      group.broadcast(View(data), 0);
      return;
    }
    expect_error(error_of([&] { (void)group.recv<std::int32_t>({1}, 0); }), ErrorKind::disconnected,
                 "rank 0 left the group");
    std::vector<std::int32_t> got(100);
    group.broadcast(View(got), 0);
    EXPECT_EQ(got, data);
  });
}

// One sends its first message while the other is leaving: it may arrive or not, but nothing else fails.
TEST(TcpWires, a_first_message_to_who_is_leaving_harms_nobody) {
  for (int round = 0; round < 40; ++round) {
    const int leaver = round % 2;
    run(tcp_job(3), [leaver, round](const Group& group) {
      std::optional<Group> part = group.split(0);
      part->barrier();
      if (group.rank() == leaver) {
        part.reset();
      } else {
        try {
          for (int i = 0; i < 50; ++i) part->send(numbers(20, round + i), leaver);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::disconnected) << error.what();
        }
        const int other = group.rank() == 2 ? 1 - leaver : 2;
        const Tensor got = part->sendrecv(numbers(30, group.rank()), {30}, other);
        EXPECT_EQ(elements_of(got), numbers(30, other));
        EXPECT_FALSE(part->failure().has_value()) << part->failure()->text;
      }
      expect_sum(group, round);
    });
  }
}

TEST(TcpWires, groups_come_and_go_and_nothing_is_left) {
  constexpr int size = 3;
  Census census(size);
  int before = 0;
  run(tcp_job(size), [&](const Group& group) {
    group.barrier();
    census.take(group, [&](int count) { before = count; });
    for (int round = 0; round < 60; ++round) {
      const auto part = group.split(0);
      // Some wires are wanted by nobody but the leaver, and some by both.
      const int from = round % size;
      const int to = (from + 1 + round % 2) % size;
      if (part->rank() == from) part->send(numbers(3, round), to);
      if (part->rank() != to) continue;
      EXPECT_EQ(elements_of(part->recv<std::int32_t>({3}, from)), numbers(3, round));
    }
    census.take(group, [&](int count) { EXPECT_EQ(count, before); });
  });
}

// --- joining ---------------------------------------------------------------------------------------------

TEST(Job, settings_that_differ_are_refused_with_both_values) {
  const auto ends = rendezvous::make_local(2, base::real_scheduler());
  std::vector<std::thread> threads;
  std::atomic<int> refused{0};
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Config config;
      config.eager_bytes = rank == 0 ? 11'000 : 22'000;
      control::Identity identity;
      identity.rank = rank;
      identity.size = 2;
      try {
        base::Deadline deadline(base::real_scheduler(), soon);
        (void)transport::Job::join(identity, config, *ends[static_cast<std::size_t>(rank)],
                                   net::resolve({"127.0.0.1", 0}).front(), deadline);
        ADD_FAILURE() << "rank " << rank << " has joined";
      } catch (const base::Problem& problem) {
        const std::string text = problem.what();
        EXPECT_EQ(problem.kind(), ErrorKind::mismatch) << text;
        EXPECT_NE(text.find("RONDO_EAGER_BYTES=11000"), std::string::npos) << text;
        EXPECT_NE(text.find("RONDO_EAGER_BYTES=22000"), std::string::npos) << text;
        ++refused;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(refused, 2);
}

// --- much ------------------------------------------------------------------------------------------------

TEST_P(JobGroup, much_both_ways_at_once) {
  constexpr std::int64_t count = 16 << 20;  // 64 MiB
  run(job(2), [](const Group& group) {
    const int other = 1 - group.rank();
    const Tensor got = group.sendrecv(numbers(count, group.rank()), {count}, other);
    EXPECT_TRUE(elements_of(got) == numbers(count, other));
  });
}

TEST_P(JobGroup, many_messages_of_all_sizes) {
  run(job(3), [](const Group& group) {
    std::vector<Request> sends;
    std::vector<std::vector<std::int32_t>> out;
    std::vector<std::size_t> sizes{0, 1, 100, 8191, 8192, 8193, 20'000, 300'000};
    out.reserve(2 * sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      for (int to = 0; to < 3; ++to) {
        if (to == group.rank()) continue;
        out.push_back(numbers(sizes[i], 10 * group.rank() + to));
        sends.push_back(group.isend(ConstView(out.back()), to, {.tag = static_cast<int>(i)}));
      }
    }
    for (std::size_t i = sizes.size(); i-- > 0;) {
      for (int from = 0; from < 3; ++from) {
        if (from == group.rank()) continue;
        std::vector<std::int32_t> got(sizes[i]);
        group.recv_into(View(got), from, {.tag = static_cast<int>(i)});
        EXPECT_TRUE(got == numbers(sizes[i], 10 * from + group.rank()));
      }
    }
    for (Request& each : sends) each.wait();
  });
}

}  // namespace
