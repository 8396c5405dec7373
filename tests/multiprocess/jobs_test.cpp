// Real processes, started and described as a user would: by the environment.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::test {
namespace {

// What a rank's process ends with.
constexpr int right = 0;
constexpr int wrong = 3;
constexpr int threw = 4;

/// Processes that meet in a folder of their own. Children never return from here.
class Job {
 public:
  Job(int size, const std::function<int(Group)>& rank_main) {
    std::string name = (std::filesystem::temp_directory_path() / "rondo-job-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (int rank = 0; rank < size; ++rank) {
      const pid_t child = fork();
      if (child == 0) _exit(run(rank, size, rank_main));
      EXPECT_GT(child, 0);
      children_.push_back(child);
    }
  }
  ~Job() {
    for (const pid_t child : children_) {
      if (child > 0) kill(child, SIGKILL);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Waits for a rank's process; its exit status, or minus the signal that ended it.
  int wait(int rank) {
    pid_t& child = children_[static_cast<std::size_t>(rank)];
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    child = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int run(int rank, int size, const std::function<int(Group)>& rank_main) const {
    alarm(100);  // a hang ends this process, and the test says so
    setenv("RONDO_RANK", std::to_string(rank).c_str(), 1);
    setenv("RONDO_SIZE", std::to_string(size).c_str(), 1);
    setenv("RONDO_RENDEZVOUS", ("file:" + folder_).c_str(), 1);
    setenv("RONDO_TIMEOUT", "60", 1);
    try {
      const Group group = init(true);
      const int result = rank_main(group);
      group.shutdown();
      return result;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      return threw;
    }
  }

  std::string folder_;
  std::vector<pid_t> children_;
};

TEST(Processes, AddUpAndSendOverTcp) {
  constexpr int size = 4;
  Job job(size, [](Group group) {
    if (group.backend() != Backend::tcp || group.size() != size || group.local_size() != size) return wrong;
    std::vector<std::int64_t> values(100'003);
    std::iota(values.begin(), values.end(), group.rank());
    group.all_sum(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != static_cast<std::int64_t>(size * i + 6)) return wrong;
    }
    const int next = (group.rank() + 1) % size;
    const int previous = (group.rank() + size - 1) % size;
    std::vector<float> out(200'000, static_cast<float>(group.rank() + 1));
    std::vector<float> in(out.size());
    group.sendrecv(out, next, in, previous);
    if (in != std::vector<float>(out.size(), static_cast<float>(previous + 1))) return wrong;
    const auto half = group.split(group.rank() % 2);
    const Tensor sum = half->all_sum(Tensor::scalar(group.rank()));
    return sum.span<int>()[0] == (group.rank() % 2 == 0 ? 2 : 4) ? right : wrong;
  });
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(job.wait(rank), right) << "rank " << rank;
}

TEST(Processes, LearnWhoWasKilled) {
  constexpr int size = 4;
  constexpr int victim = 2;
  Job job(size, [](Group group) {
    try {
      group.barrier();
      if (group.rank() == victim) kill(getpid(), SIGKILL);
      std::vector<float> values(1 << 20, 1.0F);
      for (;;) group.all_sum(values);
    } catch (const Error& error) {
      const auto cause = group.failure();
      const bool named = cause && cause->rank == victim && error.kind() == ErrorKind::disconnected &&
                         std::string(error.what()).find("rank 2") != std::string::npos;
      if (!named) std::fprintf(stderr, "rank %d: %s\n", group.rank(), error.what());
      return named && error.elapsed() < std::chrono::seconds(30) ? right : wrong;
    }
  });
  EXPECT_EQ(job.wait(victim), -SIGKILL);
  for (const int rank : {0, 1, 3}) EXPECT_EQ(job.wait(rank), right) << "rank " << rank;
}

TEST(Processes, ARankThatEndsEarlyDisturbsNobody) {
  constexpr int size = 3;
  Job job(size, [](Group group) {
    const std::vector<int> data{group.rank(), 7, 11};
    if (group.rank() == 0) {
      group.send(data, 1);
      return right;
    }
    if (group.rank() == 1) {
      const Tensor got = group.recv<int>({3}, 0);
      if (got.span<int>()[1] != 7) return wrong;
    }
    // Rank 0 may be gone by now; the others go on with each other.
    for (int round = 0; round < 1000; ++round) {
      std::vector<int> in(3);
      group.sendrecv(data, 3 - group.rank(), in, 3 - group.rank());
      if (in[0] != 3 - group.rank()) return wrong;
    }
    return right;
  });
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(job.wait(rank), right) << "rank " << rank;
}

TEST(Processes, AreToldWhoIsMissing) {
  std::string name = (std::filesystem::temp_directory_path() / "rondo-job-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  Config config;
  config.rank = 0;
  config.size = 2;
  config.rendezvous = "file:" + name;
  config.init_timeout = std::chrono::milliseconds(500);
  config.log = false;
  try {
    (void)init(config);
    ADD_FAILURE() << "a job of two was joined by one";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::timed_out);
    EXPECT_NE(std::string(error.what()).find("missing rank 1"), std::string::npos) << error.what();
  }
  std::filesystem::remove_all(name);
}

}  // namespace
}  // namespace rondo::test
