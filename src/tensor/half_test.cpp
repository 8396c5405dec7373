#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "rondo/dtype.hpp"

namespace rondo {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// The value of a binary format with `fraction_bits`, from its definition. Not for infinity and NaN.
double value_of(unsigned magnitude, int fraction_bits, int bias) {
  const int exponent = static_cast<int>(magnitude >> fraction_bits);
  const double fraction = static_cast<double>(magnitude & ((1U << fraction_bits) - 1U));
  if (exponent == 0) return std::ldexp(fraction, 1 - bias - fraction_bits);
  return std::ldexp(std::ldexp(1.0, fraction_bits) + fraction, exponent - bias - fraction_bits);
}

/// What the two types have in common, for one set of tests.
template <class Half, unsigned Infinity, unsigned Nan, int FractionBits, int Bias>
struct Format {
  using Type = Half;
  static constexpr unsigned infinity = Infinity;
  static constexpr unsigned nan = Nan;
  static constexpr int fraction_bits = FractionBits;
  static constexpr int bias = Bias;
};

template <class F>
class HalfTest : public testing::Test {};
using Formats =
    testing::Types<Format<float16, 0x7c00, 0x7e00, 10, 15>, Format<bfloat16, 0x7f80, 0x7fc0, 7, 127>>;
TYPED_TEST_SUITE(HalfTest, Formats);

TYPED_TEST(HalfTest, EveryPatternBecomesItsValueAndComesBack) {
  using Half = typename TypeParam::Type;
  for (unsigned pattern = 0; pattern < 0x10000U; ++pattern) {
    const Half half = Half::from_bits(static_cast<std::uint16_t>(pattern));
    const float value = static_cast<float>(half);
    const unsigned magnitude = pattern & 0x7fffU;
    if (magnitude > TypeParam::infinity) {
      ASSERT_EQ(bits_of(value), 0x7fc00000U) << std::hex << pattern;
      ASSERT_EQ(Half(value).bits, TypeParam::nan) << std::hex << pattern;
      continue;
    }
    const double expected = magnitude == TypeParam::infinity
                                ? std::numeric_limits<double>::infinity()
                                : value_of(magnitude, TypeParam::fraction_bits, TypeParam::bias);
    ASSERT_EQ(static_cast<double>(std::fabs(value)), expected) << std::hex << pattern;
    ASSERT_EQ(std::signbit(value), pattern >= 0x8000U) << std::hex << pattern;
    ASSERT_EQ(Half(value).bits, pattern) << std::hex << pattern;
  }
}

TYPED_TEST(HalfTest, RoundsToNearestEvenAtEveryBoundary) {
  using Half = typename TypeParam::Type;
  for (unsigned below = 0; below < TypeParam::infinity; ++below) {
    const unsigned above = below + 1;
    // Past the largest finite value the boundary lies where the next value would be, if there were more
    // exponents.
    const double low = value_of(below, TypeParam::fraction_bits, TypeParam::bias);
    const double high = value_of(above, TypeParam::fraction_bits, TypeParam::bias);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2) << "a boundary is a float32";
    const float before = std::nextafter(middle, 0.0F);
    const float after = std::nextafter(middle, std::numeric_limits<float>::infinity());
    const unsigned even = below % 2 == 0 ? below : above;
    ASSERT_EQ(Half(before).bits, below) << std::hex << below;
    ASSERT_EQ(Half(middle).bits, even) << std::hex << below;
    ASSERT_EQ(Half(after).bits, above) << std::hex << below;
    ASSERT_EQ(Half(-before).bits, below | 0x8000U) << std::hex << below;
    ASSERT_EQ(Half(-middle).bits, even | 0x8000U) << std::hex << below;
    ASSERT_EQ(Half(-after).bits, above | 0x8000U) << std::hex << below;
  }
}

TYPED_TEST(HalfTest, EveryNanIsTheCanonicalOne) {
  using Half = typename TypeParam::Type;
  for (const std::uint32_t pattern : {0x7f800001U, 0x7fa00000U, 0x7fc00000U, 0x7fffffffU, 0xff800001U,
                                      0xffc00000U, 0xffffffffU, 0x7f80ffffU, 0x7fbfffffU}) {
    EXPECT_EQ(Half(std::bit_cast<float>(pattern)).bits, TypeParam::nan) << std::hex << pattern;
  }
}

TYPED_TEST(HalfTest, FarValuesBecomeZeroOrInfinity) {
  using Half = typename TypeParam::Type;
  const float infinity = std::numeric_limits<float>::infinity();
  const float smallest = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(Half(infinity).bits, TypeParam::infinity);
  EXPECT_EQ(Half(-infinity).bits, TypeParam::infinity | 0x8000U);
  EXPECT_EQ(Half(std::numeric_limits<float>::max()).bits, TypeParam::infinity);
  EXPECT_EQ(Half(0.0F).bits, 0U);
  EXPECT_EQ(Half(-0.0F).bits, 0x8000U);
  EXPECT_EQ(Half(smallest).bits, 0U);
  EXPECT_EQ(Half(-smallest).bits, 0x8000U);
}

TEST(Half, KnownValues) {
  EXPECT_EQ(float16(1.0F).bits, 0x3c00);
  EXPECT_EQ(float16(-2.5F).bits, 0xc100);
  EXPECT_EQ(float16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(float16(65519.996F).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(float16(0.1F).bits, 0x2e66);
  EXPECT_EQ(bfloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(bfloat16(-2.5F).bits, 0xc020);
  EXPECT_EQ(bfloat16(3.14159265F).bits, 0x4049);
}

}  // namespace
}  // namespace rondo
