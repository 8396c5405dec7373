/// Scalar conversions of the half types, in integer arithmetic: no rounding mode and no flush-to-zero flag of
/// the calling thread can change a bit. Every NaN becomes the canonical quiet one, in both directions.

#include <bit>

#include "rondo/dtype.hpp"

namespace rondo {

namespace {

constexpr std::uint32_t float_sign = 0x80000000U;
constexpr std::uint32_t float_infinity = 0x7f800000U;
constexpr std::uint32_t float_nan = 0x7fc00000U;

/// value / 2^shift, rounded to nearest, ties to even. 1 <= shift <= 24, value < 2^31.
constexpr std::uint32_t shift_to_even(std::uint32_t value, std::uint32_t shift) noexcept {
  const std::uint32_t below_half = (1U << (shift - 1U)) - 1U;
  const std::uint32_t odd = (value >> shift) & 1U;
  return (value + below_half + odd) >> shift;
}

std::uint16_t float16_bits(std::uint32_t bits) noexcept {
  constexpr std::uint32_t beyond = 0x47800000U;            // 2^16: above every float16
  constexpr std::uint32_t smallest_normal = 0x38800000U;   // 2^-14
  constexpr std::uint32_t half_of_smallest = 0x33000000U;  // 2^-25: at or below it all round to zero
  constexpr std::uint32_t rebias = 112U << 23U;            // 127 - 15, in the exponent field
  const std::uint32_t sign = (bits & float_sign) >> 16U;
  const std::uint32_t magnitude = bits & ~float_sign;
  std::uint32_t result = 0;
  if (magnitude > float_infinity) return 0x7e00U;
  if (magnitude >= beyond) {
    result = 0x7c00U;
  } else if (magnitude >= smallest_normal) {
    result = shift_to_even(magnitude - rebias, 13);  // a carry moves into the exponent, up to infinity
  } else if (magnitude > half_of_smallest) {
    // The result counts units of 2^-24; the significand counts units of 2^(exponent - 150).
    const std::uint32_t exponent = magnitude >> 23U;
    const std::uint32_t significand = (magnitude & 0x007fffffU) | 0x00800000U;
    result = shift_to_even(significand, 126U - exponent);
  }
  return static_cast<std::uint16_t>(sign | result);
}

}  // namespace

float16::float16(float value) noexcept : bits(float16_bits(std::bit_cast<std::uint32_t>(value))) {}

float16::operator float() const noexcept {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude > 0x7c00U) return std::bit_cast<float>(float_nan);
  if (magnitude == 0x7c00U) return std::bit_cast<float>(sign | float_infinity);
  if (magnitude >= 0x0400U) return std::bit_cast<float>(sign | ((magnitude << 13U) + (112U << 23U)));
  if (magnitude == 0) return std::bit_cast<float>(sign);
  // Subnormal: magnitude * 2^-24. Its highest set bit becomes the implicit one.
  const auto top = static_cast<std::uint32_t>(std::bit_width(magnitude)) - 1U;
  const std::uint32_t exponent = top + 127U - 24U;
  const std::uint32_t fraction = (magnitude << (23U - top)) & 0x007fffffU;
  return std::bit_cast<float>(sign | (exponent << 23U) | fraction);
}

bfloat16::bfloat16(float value) noexcept {
  const auto wide = std::bit_cast<std::uint32_t>(value);
  if ((wide & ~float_sign) > float_infinity) {
    bits = 0x7fc0U;
    return;
  }
  const std::uint32_t magnitude = shift_to_even(wide & ~float_sign, 16);
  bits = static_cast<std::uint16_t>(((wide & float_sign) >> 16U) | magnitude);
}

bfloat16::operator float() const noexcept {
  if ((bits & 0x7fffU) > 0x7f80U) return std::bit_cast<float>(float_nan);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

}  // namespace rondo
