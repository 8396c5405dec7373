// What is particular to shared memory between processes: where it lies, what is left of it, what waiting
// costs.

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends.hpp"
#include "transport/shm/layout.hpp"

namespace rondo::test {
namespace {

namespace fs = std::filesystem;
namespace shm = transport::shm;

// Flags of the board.
constexpr int ready = 0;
constexpr int go = 1;
constexpr int second = 2;

struct Piece {
  std::size_t bytes = 0;
  std::size_t taken = 0;
  auto operator<=>(const Piece&) const = default;
};

/// The segments that a process holds open, by inode.
std::map<ino_t, Piece> segments_of(pid_t process) {
  std::map<ino_t, Piece> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", process), ignored)) {
    if (!fs::read_symlink(entry.path(), ignored).string().starts_with("/memfd:rondo")) continue;
    struct stat about {};
    if (stat(entry.path().c_str(), &about) != 0) continue;
    found[about.st_ino] = {static_cast<std::size_t>(about.st_size),
                           static_cast<std::size_t>(about.st_blocks) * 512};
  }
  return found;
}

/// Whether any process of this machine has one of them open or mapped: while none does, it is gone.
bool anybody_holds(const std::map<ino_t, Piece>& segments) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    for (const auto& [inode, piece] : segments_of(std::stoi(name))) {
      if (segments.contains(inode)) return true;
    }
    std::ifstream maps(entry.path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/memfd:rondo") == std::string::npos) continue;
      std::istringstream words(line);
      std::string range, rights, offset, device;
      ino_t inode = 0;
      words >> range >> rights >> offset >> device >> inode;
      if (segments.contains(inode)) return true;
    }
  }
  return false;
}

TEST(SharedMemory, NothingIsLeftWhenAllRanksAreKilled) {
  constexpr int size = 4;
  const Leftovers before;
  const Board board;
  Job job(size, Backend::shm);
  job.start_all([&](const Group& group) {
    for (std::int64_t round = 0;; ++round) {
      auto data = numbers(70'000, round + group.rank());
      group.all_sum(data);
      NEED(data == summed_numbers(70'000, round, size));
      const int next = (group.rank() + 1) % size;
      const int previous = (group.rank() + size - 1) % size;
      group.sendrecv(numbers(20'000, round + group.rank()), next, std::span(data).first(20'000), previous);
      board.raise(ready);
    }
  });
  board.await(ready, 5 * size);
  const auto segments = segments_of(job.pid(0));
  ASSERT_FALSE(segments.empty());
  std::size_t taken = 0;
  for (const auto& [inode, piece] : segments) taken += piece.taken;
  EXPECT_GT(taken, std::size_t{size} * Config().arena_bytes);
  EXPECT_TRUE(anybody_holds(segments));
  for (int rank = 0; rank < size; ++rank) job.signal(rank, SIGKILL);
  // One that is killed late may have heard of the first by then, and have ended by itself.
  for (int rank = 0; rank < size; ++rank) (void)job.wait(rank);
  EXPECT_FALSE(anybody_holds(segments));
  before.expect_none();
}

TEST(SharedMemory, JobsHaveSegmentsOfTheirOwn) {
  constexpr int size = 3;
  const Board board;
  const auto main = [&](const Group& group) {
    const auto half = group.split(group.rank() == 0 ? 0 : 1);
    board.raise(ready);
    board.await(go);
    std::vector<std::int64_t> sum = numbers(5000, group.rank());
    group.all_sum(sum);
    NEED(sum == summed_numbers(5000, 0, size));
    half->barrier();
  };
  Job one(size, Backend::shm);
  Job other(size, Backend::shm);
  one.start_all(main);
  other.start_all(main);
  board.await(ready, 2 * size);
  // Keys are compared only: how much is taken grows meanwhile.
  const auto inodes = [](const Job& job, int rank) {
    std::set<ino_t> all;
    for (const auto& [inode, piece] : segments_of(job.pid(rank))) all.insert(inode);
    return all;
  };
  for (const Job* job : {&one, &other}) {
    EXPECT_EQ(inodes(*job, 1), inodes(*job, 2));
    EXPECT_NE(inodes(*job, 0), inodes(*job, 1));  // rank 0 is alone in its half
    EXPECT_EQ(inodes(*job, 1).size(), 3U);        // bells, the group, its half
  }
  std::set<ino_t> common = inodes(one, 0);
  common.merge(inodes(one, 1));
  for (const int rank : {0, 1}) {
    for (const ino_t each : inodes(other, rank)) EXPECT_FALSE(common.contains(each));
  }
  board.raise(go);
  one.expect_right();
  other.expect_right();
}

// A ring is taken by its writer at its first byte; the space of the others is only spoken of.
TEST(SharedMemory, RingsAreTakenWhenTheyAreUsed) {
  constexpr int size = 8;
  const Board board;
  Job job(size, Backend::shm);
  const shm::GroupLayout layout{size, Config().arena_bytes};
  const auto taken = [&] {
    for (const auto& [inode, piece] : segments_of(job.pid(0))) {
      if (piece.bytes == layout.bytes()) return piece.taken;
    }
    return std::size_t{0};
  };
  job.start_all([&](const Group& group) {
    board.raise(ready);
    board.await(go);
    if (group.rank() == 3) group.send(numbers(10, 3), 5);
    if (group.rank() == 5) {
      std::vector<std::int64_t> got(10);
      group.recv_into(got, 3);
      NEED(got == numbers(10, 3));
    }
    board.raise(second);
    board.await(go, 2);
  });
  board.await(ready, size);
  EXPECT_EQ(taken(), layout.reserved());
  board.raise(go);
  board.await(second, size);
  const std::size_t rings = (taken() - layout.reserved()) / layout.ring_bytes();
  EXPECT_EQ((taken() - layout.reserved()) % layout.ring_bytes(), 0U);
  EXPECT_GE(rings, 1U);
  EXPECT_LE(rings, 2U);  // the receiver may have answered
  board.raise(go);
  job.expect_right();
}

// --- what waiting costs
// --------------------------------------------------------------------------------------

std::int64_t cpu_ms() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& time) { return std::int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000; };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

class Waiting : public OverBackends {};
OVER_ALL_BACKENDS(Waiting);

TEST_P(Waiting, IdleInAReceiveUsesLittleOfACore) {
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    std::vector<std::int64_t> data(10);
    if (group.rank() == 1) {
      group.recv_into(data, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // this is what is measured
      group.send(numbers(10, 1), 0);
      return;
    }
    group.send(data, 1);
    const std::int64_t begin = now_ns();
    const std::int64_t before = cpu_ms();
    group.recv_into(data, 1);
    NEED(data == numbers(10, 1));
    NEED(ms_since(begin) >= 290);
    NEED_OR(cpu_ms() - before < 60, fmt::format("{} ms of a core", cpu_ms() - before));
  });
  job.expect_right();
}

TEST_P(Waiting, EightRanksOnTwoCoresStayFast) {
  constexpr int size = 8;
  constexpr int rounds = 1000;
  Job job(size, backend());
  job.start_processes([&](int) {
    cpu_set_t all;
    CPU_ZERO(&all);
    NEED(sched_getaffinity(0, sizeof all, &all) == 0);
    cpu_set_t two;
    CPU_ZERO(&two);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &two);
    }
    NEED(sched_setaffinity(0, sizeof two, &two) == 0);
    const Group group = init(true);
    group.barrier();
    const std::int64_t begin = now_ns();
    for (int round = 0; round < rounds; ++round) group.barrier();
    const std::int64_t took = ms_since(begin);
    NEED_OR(took < 5000, fmt::format("{} barriers took {} ms", rounds, took));
    group.shutdown();
  });
  job.expect_right();
}

// --- who shares memory with whom
// -----------------------------------------------------------------------------

// From now on this process gets no local sockets, as in some sandboxes.
void forbid_local_sockets() {
  const auto low_word = [](std::size_t offset) { return static_cast<std::uint32_t>(offset); };
  std::array<sock_filter, 6> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_word(offsetof(seccomp_data, nr))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_word(offsetof(seccomp_data, args))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
  NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0);
  NEED(socket(AF_UNIX, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT);
}

TEST(Meeting, OneRankWithoutLocalSocketsTakesAllToTcp) {
  for (int odd = 0; odd < 3; ++odd) {
    SCOPED_TRACE(odd);
    Job job(3, Backend::any);
    job.start_processes([&](int rank) {
      if (rank == odd) forbid_local_sockets();
      const Group group = init(true);
      NEED(group.backend() == Backend::tcp);
      NEED(group.local_size() == (rank == odd ? 1 : 2));
      std::vector<std::int64_t> sum = numbers(3000, rank);
      group.all_sum(sum);
      NEED(sum == summed_numbers(3000, 0, 3));
      group.shutdown();
    });
    job.expect_right();
  }
}

TEST(Meeting, ShmSaysWhichPairIsApart) {
  Job job(3, Backend::shm);
  job.start_processes([&](int rank) {
    if (rank == 1) forbid_local_sockets();
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(error.kind() == ErrorKind::unavailable, error.what());
    const std::string text = error.what();
    NEED_OR(text.find("rank 0 does not reach rank 1 on a local socket") != std::string::npos, text);
  });
  job.expect_right();
}

TEST(Meeting, AllOnOneHostShareMemory) {
  Job job(3, Backend::any);
  job.start_all([](const Group& group) {
    NEED(group.backend() == Backend::shm && group.local_size() == 3);
    group.barrier();
  });
  job.expect_right();
}

TEST(Meeting, BackendsThatDifferAreRefusedWithBothValues) {
  Job job(2);
  const Job::ProcessMain main = [](int) {
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(error.kind() == ErrorKind::mismatch, error.what());
    const std::string text = error.what();
    NEED_OR(text.find("RONDO_BACKEND=tcp") != std::string::npos, text);
    NEED_OR(text.find("RONDO_BACKEND=shm") != std::string::npos, text);
  };
  job.set("RONDO_BACKEND", "tcp");
  job.start_process(0, main);
  job.set("RONDO_BACKEND", "shm");
  job.start_process(1, main);
  job.expect_right();
}

}  // namespace
}  // namespace rondo::test
