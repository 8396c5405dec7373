/// Known answers, for what the reference and the kernels might get wrong together.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/reduce.hpp"

namespace rondo::tensor {
namespace {

template <class T>
T reduced(ReduceOp op, std::initializer_list<T> inputs, std::size_t divisor = 0) {
  std::vector<const void*> in;
  for (const T& input : inputs) in.push_back(&input);
  T out{};
  reduce_kernel(dtype_of<T>, op)(&out, in, 1, divisor);
  return out;
}

TEST(Reduce, IntegersWrap) {
  EXPECT_EQ(reduced<std::int8_t>(ReduceOp::sum, {127, 1}), -128);
  EXPECT_EQ(reduced<std::int8_t>(ReduceOp::product, {-128, -1}), -128);
  EXPECT_EQ(reduced<std::uint8_t>(ReduceOp::product, {16, 17}), 16);
  EXPECT_EQ(reduced<std::uint64_t>(ReduceOp::product, {0x1000000000000001U, 0x30U}), 0x30U);
  EXPECT_EQ(reduced<std::int64_t>(ReduceOp::max, {-5, -7, -6}), -5);
  EXPECT_EQ(reduced<std::uint64_t>(ReduceOp::min, {~std::uint64_t{0}, 9, std::uint64_t{1} << 63U}), 9U);
}

TEST(Reduce, HalvesRoundOnce) {
  // Rounded after each step, 2048 would swallow every 1.
  const float16 one(1.0F);
  EXPECT_EQ(reduced(ReduceOp::sum, {float16(2048.0F), one, one, one, one}), float16(2052.0F));
  const bfloat16 small(1.0F);
  EXPECT_EQ(reduced(ReduceOp::sum, {bfloat16(256.0F), small, small}), bfloat16(258.0F));
  // The sum is infinite as a float16, the mean is not.
  EXPECT_EQ(reduced(ReduceOp::mean, {float16(60000.0F), float16(60000.0F)}, 2), float16(60000.0F));
  EXPECT_EQ(reduced(ReduceOp::product, {float16(1000.0F), float16(1000.0F), float16(0.0009765625F)}),
            float16(976.5625F));
}

TEST(Reduce, ZerosAndNanHaveAnOrder) {
  EXPECT_TRUE(std::signbit(reduced<float>(ReduceOp::min, {0.0F, -0.0F})));
  EXPECT_TRUE(std::signbit(reduced<float>(ReduceOp::min, {-0.0F, 0.0F})));
  EXPECT_FALSE(std::signbit(reduced<double>(ReduceOp::max, {0.0, -0.0})));
  EXPECT_FALSE(std::signbit(reduced<double>(ReduceOp::max, {-0.0, 0.0})));
  const float nan = std::bit_cast<float>(0xffc12345U);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(reduced<float>(op, {1.0F, nan, 2.0F})), 0x7fc00000U) << op;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(reduced<float>(op, {nan})), 0x7fc00000U) << op;
    EXPECT_EQ(reduced(op, {float16(1.0F), float16::from_bits(0xfc01)}).bits, 0x7e00) << op;
    EXPECT_EQ(reduced(op, {bfloat16::from_bits(0xff81), bfloat16(1.0F)}).bits, 0x7fc0) << op;
  }
}

TEST(Reduce, LogicCountsNanAsTrueAndMinusZeroAsFalse) {
  EXPECT_EQ(reduced<float>(ReduceOp::logical_and, {2.0F, std::numeric_limits<float>::quiet_NaN()}), 1.0F);
  EXPECT_EQ(reduced<double>(ReduceOp::logical_or, {-0.0, 0.0}), 0.0);
  EXPECT_EQ(reduced(ReduceOp::logical_or, {float16(-0.0F), float16::from_bits(1)}), float16(1.0F));
  EXPECT_EQ(reduced(ReduceOp::logical_and, {bfloat16(3.0F), bfloat16(-0.0F)}), bfloat16(0.0F));
  EXPECT_EQ(reduced<std::int32_t>(ReduceOp::logical_and, {4, 3}), 1);
  EXPECT_EQ(reduced<std::int32_t>(ReduceOp::logical_and, {-7}), 1);
}

TEST(Reduce, BoolsComeOutAsZeroOrOne) {
  const std::uint8_t two = 2;
  const std::uint8_t one = 1;
  const std::array<const void*, 2> in{&two, &one};
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::bit_and, ReduceOp::bit_or,
                            ReduceOp::logical_and, ReduceOp::logical_or}) {
    std::uint8_t out = 9;
    reduce_kernel(DType::bool_, op)(&out, in, 1, 0);
    EXPECT_EQ(out, 1) << op;
  }
  std::uint8_t out = 9;
  reduce_kernel(DType::bool_, ReduceOp::bit_xor)(&out, in, 1, 0);
  EXPECT_EQ(out, 0);
}

TEST(Reduce, ComplexMultipliesWithoutFusing) {
  using C = std::complex<float>;
  EXPECT_EQ(reduced<C>(ReduceOp::product, {C(1, 2), C(3, 4)}), C(-5, 10));
  EXPECT_EQ(reduced<C>(ReduceOp::mean, {C(1, 2), C(4, 4)}, 2), C(2.5F, 3));
  // (1 + e)^2 - (1 + 2e) is 0 when the square is rounded first, e^2 when it is fused.
  const float e = 0x1p-13F;
  EXPECT_EQ(reduced<C>(ReduceOp::product, {C(1 + e, 1), C(1 + e, 1 + 2 * e)}).real(), 0.0F);
}

TEST(Reduce, OnlySupportedPairsHaveAKernel) {
  for (int type = 0; type < dtype_count; ++type) {
    for (int number = 0; number < reduce_op_count; ++number) {
      const auto dtype = static_cast<DType>(type);
      const auto op = static_cast<ReduceOp>(number);
      EXPECT_EQ(reduce_kernel(dtype, op) != nullptr, supported(op, dtype)) << dtype << ' ' << op;
      const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
      const bool rounds = op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::mean;
      EXPECT_EQ(combines_once(dtype, op), half && rounds) << dtype << ' ' << op;
    }
  }
}

}  // namespace
}  // namespace rondo::tensor
