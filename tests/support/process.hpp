#pragma once
/// Ranks that are real processes, described as a user would describe them: by the environment.

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "rondo/rondo.hpp"

namespace rondo::test {

/// What can carry a job of processes on one host here.
std::vector<Backend> process_backends();

/// Nanoseconds of a clock that all processes of this machine share.
std::int64_t now_ns();
inline std::int64_t ms_since(std::int64_t begin) { return (now_ns() - begin) / 1'000'000; }

/// Memory that a test and its ranks share. Make it before they start.
class Board {
 public:
  Board();
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Counts one up and wakes who waits for it.
  void raise(int flag) const;
  std::uint32_t count(int flag) const;
  /// Sleeps until the flag has been raised so often; throws when that takes longer than any test should.
  void await(int flag, std::uint32_t times = 1) const;
  /// A number of the test's own, 0 at first.
  std::atomic<std::int64_t>& value(int slot) const;

 private:
  struct Shared;
  Shared* shared_;
};

/// Ends the rank with a status that fails the test, and the words on its stderr.
[[noreturn]] void unmet(const char* file, int line, const std::string& what);
/// A condition in a rank's process, where gtest's macros reach nobody.
#define NEED(...) ((__VA_ARGS__) ? void() : ::rondo::test::unmet(__FILE__, __LINE__, #__VA_ARGS__))
/// The same with words of one's own.
#define NEED_OR(condition, words) \
  ((condition) ? void() : ::rondo::test::unmet(__FILE__, __LINE__, std::string(#condition ": ") + (words)))

/// In a rank's process: the error that `call` throws; the test fails when it throws none.
Error thrown_by(const std::function<void()>& call);

/// What a rank's process ends with.
constexpr int right = 0;
constexpr int wrong = 3;

/// The processes of one job. They meet in a folder of their own, and end with the test's process.
class Job {
 public:
  using Environment = std::map<std::string, std::string>;
  using RankMain = std::function<void(Group)>;
  using ProcessMain = std::function<void(int rank)>;

  explicit Job(int size, Backend backend = Backend::any, Environment environment = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// One more variable for the ranks that are started later.
  void set(const std::string& name, const std::string& value) { environment_[name] = value; }
  /// Starts a rank, which joins the job, runs `rank_main` and shuts down. What it throws fails the test.
  void start(int rank, const RankMain& rank_main);
  void start_all(const RankMain& rank_main);
  /// A rank's process with nothing but its environment set: it calls init itself.
  void start_process(int rank, const ProcessMain& process_main);
  void start_processes(const ProcessMain& process_main);

  int size() const noexcept { return size_; }
  pid_t pid(int rank) const { return processes_.at(static_cast<std::size_t>(rank)).pid; }
  void signal(int rank, int number) const;
  /// True once a rank's process has ended; it can still be waited for.
  bool ended(int rank) const;
  /// Waits for a rank's process; its exit status, or minus the signal that ended it.
  int wait(int rank);
  /// What the rank has written to stderr.
  std::string words(int rank) const;
  /// Waits for the listed ranks (all that have been started and not been waited for), which must end well.
  void expect_right(std::vector<int> ranks = {});
  /// After the end of all: the ranks have left nothing in the folder where they met.
  void expect_clean() const;
  const std::string& folder() const noexcept { return folder_; }

 private:
  struct Process {
    pid_t pid = -1;
    base::Fd words;  // a file in memory that is its stderr
  };
  [[noreturn]] void run(int rank, const ProcessMain& process_main) const;

  int size_;
  Environment environment_;
  std::string folder_;
  std::vector<Process> processes_;
};

/// Shared memory that outlives whoever made it.
class Leftovers {
 public:
  Leftovers() : before_(list()) {}
  /// Nothing of rondo's is in /dev/shm for long that was not there before, and no child is left.
  void expect_none() const;

 private:
  static std::set<std::string> list();
  std::set<std::string> before_;
};

/// A port that is this test's: it stays bound, so that nobody else gets it, while a rank listens on it.
class HeldPort {
 public:
  explicit HeldPort(const std::string& host = "127.0.0.1");
  /// "127.0.0.1:40123", "[::1]:40123".
  const std::string& place() const noexcept { return place_; }

 private:
  base::Fd socket_;
  std::string place_;
};

/// Where a process listens on TCP: "127.0.0.1:40123", "[::]:40123".
std::set<std::string> listening(pid_t process);

struct Footprint {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t resident_bytes = 0;
};
/// Of this process, now.
Footprint footprint();

/// Waits until `condition` holds; false when it does not within the limit. For what can only be looked at.
bool comes_true(const std::function<bool()>& condition,
                std::chrono::milliseconds limit = std::chrono::seconds(10));

}  // namespace rondo::test
