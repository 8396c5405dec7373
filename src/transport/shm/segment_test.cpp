#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/problem.hpp"
#include "rendezvous/local.hpp"

namespace {

using namespace rondo::transport::shm;
using namespace std::chrono_literals;
using rondo::ErrorKind;
using rondo::base::Deadline;
using rondo::base::Fd;
using rondo::base::Problem;
using rondo::transport::Job;

constexpr std::size_t page = 4096;
constexpr std::size_t mebibyte = std::size_t{1} << 20U;

Deadline ample() { return {rondo::base::real_scheduler(), 60s}; }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// "unavailable: the text"; "" when no Problem came.
std::string problem_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Problem& problem) {
    return std::string(to_string(problem.kind())) + ": " + problem.what();
  }
  return "";
}

std::size_t allocated(const Segment& segment) {
  struct stat about {};
  EXPECT_EQ(fstat(segment.descriptor(), &about), 0);
  return static_cast<std::size_t>(about.st_blocks) * 512;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

Fd copy_of(int fd) { return Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

// --- one segment
// --------------------------------------------------------------------------------------------

TEST(Segment, is_zero_and_takes_no_memory_until_it_is_reserved) {
  Segment segment(4 * mebibyte);
  EXPECT_EQ(segment.size(), 4 * mebibyte);
  EXPECT_EQ(allocated(segment), 0U);
  segment.reserve(mebibyte, 3 * page);
  EXPECT_EQ(allocated(segment), 3 * page);
  segment.reserve(mebibyte, 3 * page);  // again costs nothing
  EXPECT_EQ(allocated(segment), 3 * page);
  segment.reserve(mebibyte + 2 * page, 2 * page);
  EXPECT_EQ(allocated(segment), 4 * page);
  EXPECT_TRUE(std::all_of(segment.data(), segment.data() + segment.size(),
                          [](std::byte each) { return each == std::byte{0}; }));
}

TEST(Segment, more_than_there_is_is_refused_with_both_numbers_and_nothing_taken) {
  const std::uint64_t left = memory_left();
  ASSERT_GT(left, 0U);
  const std::size_t wanted = (left / page + 1) * page * 2;
  Segment segment(wanted + page);
  const std::string text = problem_of([&] { segment.reserve(0, wanted); });
  EXPECT_TRUE(contains(text, "unavailable: ")) << text;
  EXPECT_TRUE(contains(text, std::to_string(wanted) + " bytes")) << text;
  const std::size_t second = text.find("needed, ");
  ASSERT_NE(second, std::string::npos) << text;
  const std::uint64_t told = std::stoull(text.substr(second + 8));
  // What is left changes all the time, but not by half.
  EXPECT_GT(told, left / 2) << text;
  EXPECT_LT(told, wanted) << text;
  EXPECT_EQ(allocated(segment), 0U);
  segment.reserve(0, page);
  EXPECT_EQ(allocated(segment), page);
}

TEST(Segment, cannot_be_made_smaller_or_larger_by_anybody) {
  Segment segment(2 * mebibyte);
  const Fd other = copy_of(segment.descriptor());
  for (const std::size_t size :
       {std::size_t{0}, mebibyte, 2 * mebibyte - 1, 2 * mebibyte + 1, 3 * mebibyte}) {
    EXPECT_EQ(ftruncate(other.get(), static_cast<off_t>(size)), -1) << size;
    EXPECT_EQ(errno, EPERM) << size;
  }
  EXPECT_EQ(fcntl(other.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  EXPECT_EQ(fcntl(segment.descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_TRUE(contains(problem_of([&] { segment.reserve(2 * mebibyte, page); }), "unavailable: "));
}

TEST(Segment, of_sizes_that_cannot_be) {
  constexpr std::size_t top = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {std::size_t{0}, top, top / 2, top / 2 / page * page}) {
    const std::size_t before = open_descriptors();
    const std::string text = problem_of([&] { const Segment segment(bytes); });
    EXPECT_TRUE(contains(text, "unavailable: ") && contains(text, std::to_string(bytes))) << text;
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST(Segment, handed_over_is_the_same_memory) {
  Segment made(mebibyte);
  made.reserve(0, mebibyte);
  Segment taken(copy_of(made.descriptor()), mebibyte);
  EXPECT_NE(taken.data(), made.data());
  for (std::size_t i = 0; i < mebibyte; i += 997) made.data()[i] = static_cast<std::byte>(i % 251);
  for (std::size_t i = 0; i < mebibyte; i += 997) ASSERT_EQ(taken.data()[i], static_cast<std::byte>(i % 251));
  taken.data()[mebibyte - 1] = std::byte{77};
  EXPECT_EQ(made.data()[mebibyte - 1], std::byte{77});
}

TEST(Segment, what_is_no_segment_is_refused) {
  const auto memory = [](std::size_t bytes, int seals) {
    Fd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
    return fd;
  };
  constexpr int right = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const auto refused = [](Fd fd) {
    const std::size_t before = open_descriptors();
    const bool had = static_cast<bool>(fd);
    const std::string text = problem_of([&] { const Segment segment(std::move(fd), mebibyte); });
    EXPECT_TRUE(contains(text, "unavailable: ")) << text;
    EXPECT_EQ(open_descriptors(), before - (had ? 1 : 0));
    return text;
  };
  EXPECT_EQ(problem_of([&] { const Segment good(memory(mebibyte, right), mebibyte); }), "");
  EXPECT_TRUE(contains(refused(memory(mebibyte - page, right)), std::to_string(mebibyte)));
  refused(memory(mebibyte + page, right));
  refused(memory(mebibyte, F_SEAL_GROW));                   // may be cut under our feet
  refused(memory(mebibyte, F_SEAL_GROW | F_SEAL_SEAL));     // the same, for good
  refused(memory(mebibyte, F_SEAL_SHRINK | F_SEAL_WRITE));  // of no use
  const auto path = std::filesystem::temp_directory_path() / fmt::format("rondo-segment-{}", getpid());
  Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::filesystem::remove(path);
  ASSERT_EQ(ftruncate(file.get(), mebibyte), 0);
  refused(std::move(file));
  refused(Fd(open("/dev/zero", O_RDWR | O_CLOEXEC)));
  refused(Fd());
}

// --- shared by a job
// ----------------------------------------------------------------------------------------

using Result = std::string;  // problem_of

/// A job inside this process, a thread for each rank. What each comes to.
std::vector<Result> each_rank(int size, const std::function<void(Job&)>& main) {
  const auto ends = rondo::rendezvous::make_local(size, rondo::base::real_scheduler());
  std::vector<Result> results(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      std::shared_ptr<Job> job;
      try {
        rondo::control::Identity identity;
        identity.rank = rank;
        identity.size = size;
        rondo::base::Deadline deadline(rondo::base::real_scheduler(), std::chrono::seconds(60));
        job = Job::join(identity, {}, *ends[at], rondo::net::resolve({"127.0.0.1", 0}).front(), deadline);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        return;
      }
      results[at] = problem_of([&] { main(*job); });
    });
  }
  for (std::thread& each : threads) each.join();
  return results;
}

std::vector<int> ranks_below(int size) {
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// The ranks that have it write their numbers and see those of the others.
void expect_shared(Segment& segment, const std::vector<int>& members, int rank, std::size_t offset) {
  const auto word = [&](int of) {
    return reinterpret_cast<std::atomic<int>*>(segment.data() + offset + 64 * static_cast<std::size_t>(of));
  };
  word(rank)->store(1000 + rank);
  for (const int each : members) {
    while (word(each)->load() == 0) std::this_thread::yield();
    EXPECT_EQ(word(each)->load(), 1000 + each);
  }
}

TEST(Share, all_get_the_same_memory) {
  for (int size = 2; size <= 5; ++size) {
    SCOPED_TRACE(size);
    const auto results = each_rank(size, [size](Job& job) {
      Deadline deadline = ample();
      const auto segment = share(job, 7, ranks_below(size), {3 * mebibyte, mebibyte, 3 * mebibyte}, deadline);
      EXPECT_EQ(segment->size(), 3 * mebibyte);
      EXPECT_GE(allocated(*segment), mebibyte);
      EXPECT_LT(allocated(*segment), 2 * mebibyte);
      expect_shared(*segment, ranks_below(size), job.rank(), 2 * mebibyte);
    });
    EXPECT_EQ(results, std::vector<Result>(static_cast<std::size_t>(size)));
  }
}

TEST(Share, some_of_the_ranks_in_any_order_and_two_groups_at_once) {
  const std::vector<int> odd{3, 1};
  const std::vector<int> late{4, 2, 3};
  const auto results = each_rank(5, [&](Job& job) {
    const auto take_part = [&](std::uint64_t group, const std::vector<int>& members, std::size_t bytes) {
      if (std::ranges::find(members, job.rank()) == members.end()) return;
      Deadline deadline = ample();
      const auto segment = share(job, group, members, {bytes, bytes, bytes}, deadline);
      EXPECT_EQ(segment->size(), bytes);
      expect_shared(*segment, members, job.rank(), page);
    };
    std::thread other([&] { take_part(11, odd, 2 * page); });
    take_part(12, late, 3 * page);
    other.join();
  });
  EXPECT_EQ(results, std::vector<Result>(5));
}

/// Everybody has the same problem, and it says `parts`.
void expect_same_problem(const std::vector<Result>& results, const std::vector<int>& ranks,
                         const std::vector<std::string>& parts) {
  const Result& first = results[static_cast<std::size_t>(ranks.front())];
  for (const int each : ranks) EXPECT_EQ(results[static_cast<std::size_t>(each)], first);
  for (const std::string& part : parts) EXPECT_TRUE(contains(first, part)) << first;
}

TEST(Share, a_maker_without_memory_tells_all_the_same) {
  const std::size_t wanted = (memory_left() / page + 1) * page * 2;
  const auto results = each_rank(4, [&](Job& job) {
    if (job.rank() == 0) return;
    Deadline deadline = ample();
    (void)share(job, 7, {3, 1, 2}, {wanted, wanted, wanted}, deadline);
  });
  EXPECT_EQ(results[0], "");
  expect_same_problem(results, {1, 2, 3}, {"unavailable: rank 1: ", std::to_string(wanted) + " bytes"});
}

// One rank asks for another size: what it is given is no segment as it needs it.
TEST(Share, one_that_cannot_use_it_tells_all_the_same) {
  for (const int other : {0, 1, 3}) {
    const std::size_t before = open_descriptors();
    const auto results = each_rank(4, [&](Job& job) {
      const std::size_t bytes = job.rank() == other ? 5 * page : 4 * page;
      Deadline deadline = ample();
      (void)share(job, 7, ranks_below(4), {bytes, page, bytes}, deadline);
    });
    // Where the maker is the odd one, the first of the others speaks.
    expect_same_problem(results, {0, 1, 2, 3},
                        {fmt::format("unavailable: rank {}: ", other == 0 ? 1 : other), "no segment of"});
    EXPECT_EQ(open_descriptors(), before);
  }
}

/// Rank 2 of 4 does `instead` of sharing; the others all hear the same, naming it, long before the limit.
void expect_blamed_on_2(const std::function<void(rondo::net::SocketStream&)>& instead) {
  const auto begin = rondo::base::real_scheduler().now();
  const auto results = each_rank(4, [&](Job& job) {
    Deadline deadline = ample();
    if (job.rank() == 2) {
      auto link = job.local_link(rondo::control::Purpose::segment, 7, 0, deadline);
      instead(link);
      return;
    }
    (void)share(job, 7, ranks_below(4), {4 * page, page, 4 * page}, deadline);
  });
  EXPECT_EQ(results[2], "");
  expect_same_problem(results, {0, 1, 3}, {"disconnected: rank 2: "});
  EXPECT_LT(rondo::base::real_scheduler().now() - begin, 20s);
}

TEST(Share, one_that_hangs_up_is_named_to_all) {
  expect_blamed_on_2([](rondo::net::SocketStream& link) { link.shutdown(); });
  expect_blamed_on_2([](rondo::net::SocketStream& link) {
    std::array<std::byte, 3> head{};  // not to the end
    Deadline deadline = ample();
    rondo::net::read_all(link.fd(), head, deadline);
  });
}

TEST(Share, one_that_says_what_makes_no_sense_is_named_to_all) {
  // No such kind of problem; longer than words may be.
  for (const auto& words :
       {std::array<int, 7>{99, 0, 0, 0, 0, 0, 0}, std::array<int, 7>{0, 0, 0, 0, 0, 255, 255}}) {
    expect_blamed_on_2([&](rondo::net::SocketStream& link) {
      std::array<std::byte, 7> head{};
      for (std::size_t i = 0; i < head.size(); ++i) head[i] = static_cast<std::byte>(words[i]);
      Deadline deadline = ample();
      rondo::net::write_all(link.fd(), head, deadline);
      // Until the maker has heard enough: that ends the connection, or tells why.
      rondo::net::read_all(link.fd(), head, deadline);
      (void)rondo::net::wait_ready(link.fd(), rondo::net::Ready::read, deadline);
    });
  }
}

TEST(Share, a_maker_that_hangs_up_leaves_nobody_waiting) {
  const auto results = each_rank(3, [&](Job& job) {
    Deadline deadline = ample();
    if (job.rank() == 0) {
      for (const int peer : {1, 2}) (void)job.local_link(rondo::control::Purpose::segment, 7, peer, deadline);
      return;
    }
    (void)share(job, 7, ranks_below(3), {4 * page, page, 4 * page}, deadline);
  });
  for (const int rank : {1, 2}) {
    const Result& result = results[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(contains(result, "disconnected: ")) << result;
  }
}

TEST(Share, one_that_finds_another_token_tells_all_the_same) {
  const auto results = each_rank(3, [&](Job& job) {
    Deadline deadline = ample();
    if (job.rank() != 1) {
      (void)share(job, 7, ranks_below(3), {4 * page, page, 4 * page}, deadline);
      return;
    }
    // An honest part up to the token, which it reports wrongly.
    auto link = job.local_link(rondo::control::Purpose::segment, 7, 0, deadline);
    const std::string words = "another one here";
    std::string frame(7, '\0');  // kind, rank, length
    frame[0] = static_cast<char>(1 + static_cast<int>(ErrorKind::unavailable));
    frame[5] = static_cast<char>(words.size());
    frame += words;
    rondo::net::write_all(link.fd(), std::as_bytes(std::span(frame)), deadline);
    (void)rondo::net::wait_ready(link.fd(), rondo::net::Ready::read, deadline);
    std::array<std::byte, 35> offer{};
    rondo::net::read_all(link.fd(), offer, deadline);
    (void)rondo::net::wait_ready(link.fd(), rondo::net::Ready::read, deadline);
  });
  expect_same_problem(results, {0, 2}, {"unavailable: rank 1: another one here"});
}

// --- /dev/shm
// -----------------------------------------------------------------------------------------------

constexpr int may_not = 77;

// In a child: a /dev/shm of its own that is full, and one that may not be written.
int without_dev_shm(const char* options, unsigned long flags) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return may_not;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return may_not;
  if (mount("tmpfs", "/dev/shm", "tmpfs", flags, options) != 0) return may_not;
  const Fd file(open("/dev/shm/rondo-probe", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (file && fallocate(file.get(), 0, 0, static_cast<off_t>(mebibyte)) == 0) return 2;  // that is no proof
  const auto results = each_rank(3, [](Job& job) {
    Deadline deadline = ample();
    const auto segment = share(job, 7, ranks_below(3), {8 * mebibyte, 8 * mebibyte, 8 * mebibyte}, deadline);
    EXPECT_EQ(allocated(*segment), 8 * mebibyte);
    expect_shared(*segment, ranks_below(3), job.rank(), 7 * mebibyte);
  });
  return results == std::vector<Result>(3) && !testing::Test::HasFailure() ? 0 : 3;
}

TEST(Share, needs_nothing_of_dev_shm) {
  struct Way {
    const char* options;
    unsigned long flags;
  };
  for (const Way& way : {Way{"size=4k", 0}, Way{"size=64m", MS_RDONLY}}) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(without_dev_shm(way.options, way.flags));
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    if (WEXITSTATUS(status) == may_not) GTEST_SKIP() << "this process may not mount a /dev/shm of its own";
    EXPECT_EQ(WEXITSTATUS(status), 0) << way.options;
  }
}

}  // namespace
