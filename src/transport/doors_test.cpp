#include "transport/doors.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

namespace rondo::transport {
namespace {

class QuietDoors final : public Doors {
 public:
  using Doors::Doors;
  std::vector<int> woken;

 private:
  void wake(int rank) override { woken.push_back(rank); }
};

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

bool forbidden() {
  std::vector<Door> doors(2);
  QuietDoors zero(doors, 0, 1);
  QuietDoors one(doors, 1, 2);
  return !zero.can_read(1);
}

TEST(Doors, AreReadableOnceTheyAreOpen) {
  if (forbidden()) GTEST_SKIP() << "the system forbids it";
  std::vector<Door> doors(3);
  QuietDoors zero(doors, 0, 11);
  EXPECT_FALSE(zero.can_read(1));
  EXPECT_TRUE(zero.can_read(0));
  QuietDoors one(doors, 1, 22);
  EXPECT_TRUE(zero.can_read(1));
  EXPECT_FALSE(zero.can_read_all());
  QuietDoors two(doors, 2, 33);
  EXPECT_TRUE(zero.can_read_all());
  EXPECT_TRUE(one.can_read_all());

  const std::array<int, 3> there{5, 6, 7};
  std::array<int, 3> here{};
  EXPECT_EQ(zero.read(1, address_of(there.data()), std::as_writable_bytes(std::span(here))), 0);
  EXPECT_EQ(here, there);
}

TEST(Doors, AnotherProcessBehindADoorIsNoticed) {
  if (forbidden()) GTEST_SKIP() << "the system forbids it";
  std::vector<Door> doors(2);
  QuietDoors zero(doors, 0, 11);
  QuietDoors one(doors, 1, 22);
  ASSERT_TRUE(zero.can_read(1));
  const int there = 5;
  int here = 0;
  doors[1].proof = 23;
  EXPECT_EQ(zero.read(1, address_of(&there), std::as_writable_bytes(std::span(&here, 1))), ESRCH);
  doors[1].proof = 22;
  doors[1].proof_address = 8;
  EXPECT_EQ(zero.read(1, address_of(&there), std::as_writable_bytes(std::span(&here, 1))), EFAULT);
}

TEST(Doors, ADoorThatLiesIsNeverTrusted) {
  std::vector<Door> doors(2);
  QuietDoors zero(doors, 0, 11);
  QuietDoors one(doors, 1, 22);
  doors[1].proof = 23;
  EXPECT_FALSE(zero.can_read(1));
  doors[1].proof = 22;
  EXPECT_FALSE(zero.can_read(1)) << "asked once, the answer stays";
}

TEST(Doors, TicketsAreUsedOnceOrTakenBack) {
  std::vector<Door> doors(2);
  QuietDoors zero(doors, 0, 11);
  QuietDoors one(doors, 1, 22);
  const std::uint64_t first = zero.issue();
  const std::uint64_t second = zero.issue();
  EXPECT_NE(first, 0U);
  EXPECT_NE(first, second);
  EXPECT_TRUE(one.is_valid(0, first));
  EXPECT_FALSE(one.is_valid(1, first)) << "it is of rank 0";
  EXPECT_FALSE(zero.is_used(first));

  EXPECT_TRUE(one.use(0, first));
  EXPECT_EQ(one.woken, std::vector<int>{0});
  EXPECT_TRUE(zero.is_used(first));
  EXPECT_FALSE(one.is_valid(0, first));
  EXPECT_FALSE(one.use(0, first));
  EXPECT_FALSE(zero.take_back(first)) << "the reader was first";

  EXPECT_TRUE(zero.take_back(second));
  EXPECT_FALSE(one.is_valid(0, second));
  EXPECT_FALSE(one.use(0, second));
  EXPECT_FALSE(zero.is_used(second));
}

TEST(Doors, TicketsRunOutAndComeBack) {
  std::vector<Door> doors(1);
  QuietDoors zero(doors, 0, 11);
  std::set<std::uint64_t> tickets;
  for (std::size_t i = 0; i < Door::ticket_count; ++i) tickets.insert(zero.issue());
  EXPECT_EQ(tickets.size(), Door::ticket_count);
  EXPECT_FALSE(tickets.contains(0));
  EXPECT_EQ(zero.issue(), 0U);
  const std::uint64_t freed = *std::next(tickets.begin(), 5);
  EXPECT_TRUE(zero.take_back(freed));
  const std::uint64_t again = zero.issue();
  EXPECT_NE(again, 0U);
  EXPECT_FALSE(tickets.contains(again)) << "an old ticket never becomes valid again";
  EXPECT_EQ(zero.issue(), 0U);
}

// The memory of a process that is gone is an error, whoever has its number now.
TEST(Doors, ARankThatHasDiedIsNotRead) {
  if (forbidden()) GTEST_SKIP() << "the system forbids it";
  void* const memory =
      mmap(nullptr, sizeof(Door) * 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span<Door> doors(static_cast<Door*>(memory), 2);
  static int there = 0;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    there = 77;
    const QuietDoors one(doors, 1, 22);
    for (;;) pause();
  }
  QuietDoors zero(doors, 0, 11);
  while (doors[1].open.load() == 0) sched_yield();
  ASSERT_TRUE(zero.can_read(1));
  int here = 0;
  EXPECT_EQ(zero.read(1, address_of(&there), std::as_writable_bytes(std::span(&here, 1))), 0);
  EXPECT_EQ(here, 77);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(zero.read(1, address_of(&there), std::as_writable_bytes(std::span(&here, 1))), ESRCH);
  munmap(memory, sizeof(Door) * 2);
}

}  // namespace
}  // namespace rondo::transport
