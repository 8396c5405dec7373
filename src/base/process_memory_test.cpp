#include "base/process_memory.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <numeric>
#include <vector>

namespace rondo::base {
namespace {

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST(ProcessMemory, ReadsPiecesOfAnotherProcess) {
  std::vector<std::uint32_t> values = numbers(100'003, 7);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) pause();
  }
  // The child has what was here when it was made; here it changes.
  const std::vector<std::uint32_t> expected = values;
  values.assign(values.size(), 0);

  std::uint32_t one = 0;
  std::vector<std::uint32_t> rest(50'000);
  const std::vector<RemotePiece> pieces{
      {address_of(&values[3]), std::as_writable_bytes(std::span(&one, 1))},
      {address_of(&values[50'000]), std::as_writable_bytes(std::span(rest))}};
  const int result = read_process_memory(child, pieces);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  if (result == EPERM || result == ENOSYS) GTEST_SKIP() << "the system forbids it";
  ASSERT_EQ(result, 0);
  EXPECT_EQ(one, expected[3]);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), expected.begin() + 50'000));
  // It is gone now.
  EXPECT_EQ(read_process_memory(child, pieces), ESRCH);
}

TEST(ProcessMemory, MemoryThatIsNotThereIsAnError) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const two = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(two, MAP_FAILED);
  ASSERT_EQ(munmap(static_cast<char*>(two) + page, page), 0);
  std::vector<std::byte> into(2 * page, std::byte{1});
  const std::vector<RemotePiece> pieces{{address_of(two), into}};
  const int result = read_process_memory(getpid(), pieces);
  EXPECT_TRUE(result == EFAULT || result == EPERM || result == ENOSYS) << result;
  munmap(two, page);
}

TEST(ProcessMemory, NothingIsReadFromNobody) {
  const std::vector<RemotePiece> nothing{{0, {}}};
  EXPECT_EQ(read_process_memory(getpid(), nothing), 0);
  EXPECT_EQ(read_process_memory(getpid(), {}), 0);
}

}  // namespace
}  // namespace rondo::base
