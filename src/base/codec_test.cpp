#include "base/codec.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace {

using rondo::base::Problem;
using rondo::base::Reader;
using rondo::base::Writer;

std::uint8_t at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<std::uint8_t>(bytes[i]);
}

TEST(Codec, numbers_are_little_endian) {
  std::array<std::byte, 15> memory{};
  Writer writer(memory);
  writer.put(std::uint8_t{0xA1});
  writer.put(std::uint16_t{0xB2C3});
  writer.put(std::uint32_t{0xD4E5F607});
  writer.put(std::uint64_t{0x1122334455667788});
  EXPECT_EQ(writer.written(), 15U);
  const std::array<std::uint8_t, 15> expected = {0xA1, 0xC3, 0xB2, 0x07, 0xF6, 0xE5, 0xD4, 0x88,
                                                 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(at(memory, i), expected[i]) << "byte " << i;
}

TEST(Codec, extremes_and_signs_come_back) {
  std::array<std::byte, 40> memory{};
  Writer writer(memory);
  writer.put(std::int8_t{-7});
  writer.put(std::numeric_limits<std::int32_t>::min());
  writer.put(std::int64_t{-2});
  writer.put(std::numeric_limits<std::uint64_t>::max());
  writer.put(std::numeric_limits<std::int64_t>::max());

  Reader reader(std::span<const std::byte>(memory).first(writer.written()));
  EXPECT_EQ(reader.get<std::int8_t>(), -7);
  EXPECT_EQ(reader.get<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reader.get<std::int64_t>(), -2);
  EXPECT_EQ(reader.get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.get<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(Codec, byte_ranges_come_back) {
  const std::array<std::byte, 3> text = {std::byte{9}, std::byte{8}, std::byte{7}};
  std::array<std::byte, 4> memory{};
  Writer writer(memory);
  writer.put(std::span<const std::byte>(text));
  writer.put(std::uint8_t{5});
  Reader reader(memory);
  const std::span<const std::byte> same = reader.bytes(3);
  EXPECT_EQ(at(same, 0), 9);
  EXPECT_EQ(at(same, 2), 7);
  EXPECT_EQ(reader.get<std::uint8_t>(), 5);
}

TEST(Codec, a_short_range_is_a_problem_and_nothing_is_read) {
  const std::array<std::byte, 3> memory = {std::byte{1}, std::byte{2}, std::byte{3}};
  Reader reader(memory);
  EXPECT_EQ(reader.get<std::uint8_t>(), 1);
  try {
    (void)reader.get<std::uint32_t>();
    FAIL() << "read beyond the end";
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), rondo::ErrorKind::disconnected);
    EXPECT_STREQ(problem.what(), "malformed data: 4 bytes expected, 2 left");
  }
  EXPECT_EQ(reader.get<std::uint16_t>(), 0x0302);  // still there
  EXPECT_THROW((void)reader.bytes(std::numeric_limits<std::size_t>::max()), Problem);
}

TEST(CodecDeathTest, writing_beyond_the_end_is_a_broken_invariant) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  std::array<std::byte, 3> memory{};
  EXPECT_DEATH(
      {
        Writer writer(memory);
        writer.put(std::uint32_t{1});
      },
      "rondo: broken invariant: .*codec.hpp");
}

}  // namespace
