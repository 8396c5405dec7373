#include "transport/shm/heap.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "transport/shm/segment.hpp"

namespace rondo::transport::shm {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr JobLayout layout{2, 64 * mebibyte};

class Heaps : public testing::Test {
 protected:
  Segment segment{layout.bytes(), layout.reserved()};
  std::shared_ptr<Heap> zero = std::make_shared<Heap>(segment.descriptor(), layout, 0);
  std::shared_ptr<Heap> one = std::make_shared<Heap>(segment.descriptor(), layout, 1);

  std::size_t taken() const {
    struct stat about {};
    EXPECT_EQ(fstat(segment.descriptor(), &about), 0);
    return static_cast<std::size_t>(about.st_blocks) * 512;
  }
};

bool all_zero(const std::byte* memory, std::size_t bytes) {
  return std::all_of(memory, memory + bytes, [](std::byte each) { return each == std::byte{0}; });
}

TEST_F(Heaps, WhatTheOwnerWritesIsReadByAll) {
  EXPECT_TRUE(zero->own().empty());
  const auto first = zero->allocate(5000);
  const auto second = one->allocate(3000);
  std::memset(first.get(), 7, 5000);
  std::memset(second.get(), 9, 3000);
  ASSERT_EQ(zero->own().size(), layout.heap_bytes);
  const auto offset = static_cast<std::size_t>(first.get() - zero->own().data());
  const std::span<const std::byte> seen = one->of(0);
  EXPECT_NE(seen.data(), zero->own().data());
  EXPECT_EQ(std::memcmp(seen.data() + offset, first.get(), 5000), 0);
  const auto other = static_cast<std::size_t>(second.get() - one->own().data());
  EXPECT_EQ(zero->of(1)[other], std::byte{9});
}

TEST_F(Heaps, MemoryIsTakenAtOnceAndGoesBack) {
  EXPECT_EQ(taken(), 0U);
  auto memory = zero->allocate(10 * mebibyte);
  EXPECT_EQ(taken(), 10 * mebibyte);
  std::memset(memory.get(), 5, 10 * mebibyte);
  memory.reset();
  EXPECT_EQ(taken(), 0U);
  memory = zero->allocate(10 * mebibyte);
  EXPECT_TRUE(all_zero(memory.get(), 10 * mebibyte));
}

TEST_F(Heaps, PiecesOutliveTheHandleOfTheHeap) {
  auto memory = zero->allocate(100);
  zero.reset();
  std::memset(memory.get(), 5, 100);
  memory.reset();
  EXPECT_EQ(taken(), 0U);
}

// Any order of taking and giving back: pieces never overlap, and in the end one piece is left.
TEST_F(Heaps, AnyOrderOfTakingAndGivingBack) {
  std::mt19937 random(3);
  struct Piece {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes;
    std::byte mark;
  };
  std::vector<Piece> pieces;
  for (int round = 0; round < 600; ++round) {
    if (pieces.size() > 20 || (!pieces.empty() && random() % 3 == 0)) {
      const std::size_t at = random() % pieces.size();
      for (std::size_t i = 0; i < pieces[at].bytes; i += 997)
        ASSERT_EQ(pieces[at].memory.get()[i], pieces[at].mark);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::size_t bytes = random() % (2 * mebibyte);
    auto memory = zero->allocate(bytes);
    ASSERT_TRUE(all_zero(memory.get(), bytes));
    const auto mark = static_cast<std::byte>(1 + round % 255);
    if (bytes > 0) std::memset(memory.get(), static_cast<int>(mark), bytes);
    pieces.push_back({std::move(memory), bytes, mark});
  }
  pieces.clear();
  EXPECT_EQ(taken(), 0U);
  EXPECT_NO_THROW(zero->allocate(layout.heap_bytes));
}

TEST_F(Heaps, MoreThanThereIsIsRefusedInWords) {
  const auto half = zero->allocate(40 * mebibyte);
  try {
    (void)zero->allocate(30 * mebibyte);
    FAIL() << "nothing thrown";
  } catch (const base::Problem& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::unavailable);
    EXPECT_NE(std::string(problem.what()).find("31457280 bytes of shared memory are needed"),
              std::string::npos)
        << problem.what();
  }
  EXPECT_EQ(taken(), 40 * mebibyte);
  EXPECT_NO_THROW(zero->allocate(24 * mebibyte));
  EXPECT_NO_THROW(one->allocate(64 * mebibyte)) << "every rank has a heap of its own";
}

}  // namespace
}  // namespace rondo::transport::shm
