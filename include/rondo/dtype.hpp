#pragma once
/// Element types and reductions, and the one table that says which go together.

#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string_view>

#include "rondo/export.hpp"

namespace RONDO_EXPORT rondo {

/// IEEE 754 binary16, as storage: converts from and to float, does no arithmetic of its own.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  explicit float16(float value) noexcept;  ///< rounds to nearest even; overflow gives infinity
  explicit operator float() const noexcept;
  static constexpr float16 from_bits(std::uint16_t bits) noexcept { return std::bit_cast<float16>(bits); }
  friend constexpr bool operator==(float16 a, float16 b) noexcept { return a.bits == b.bits; }  // bits
};

/// bfloat16 (the upper half of a float32), as storage.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  explicit bfloat16(float value) noexcept;  ///< rounds to nearest even; NaN stays NaN
  explicit operator float() const noexcept;
  static constexpr bfloat16 from_bits(std::uint16_t bits) noexcept { return std::bit_cast<bfloat16>(bits); }
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) noexcept { return a.bits == b.bits; }  // bits
};

/// 8-bit floats (OCP E4M3 and E5M2): moved as they are, never reduced.
struct float8_e4m3 {
  std::uint8_t bits = 0;
  friend constexpr bool operator==(float8_e4m3, float8_e4m3) = default;
};
struct float8_e5m2 {
  std::uint8_t bits = 0;
  friend constexpr bool operator==(float8_e5m2, float8_e5m2) = default;
};

/// The element types. The values are part of the wire protocol: append, never renumber.
enum class DType : std::uint8_t {
  bool_ = 0,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
  float8_e4m3,
  float8_e5m2,
};
inline constexpr int dtype_count = 17;

/// Bytes of one element.
std::size_t size_of(DType dtype) noexcept;
/// "bool", "int8", ..., "bfloat16", "complex64", "float8_e4m3".
std::string_view to_string(DType dtype) noexcept;
/// The inverse of to_string, exact and case-sensitive.
std::optional<DType> parse_dtype(std::string_view name) noexcept;
std::ostream& operator<<(std::ostream& out, DType dtype);

/// How elements of several ranks become one. The values are part of the wire protocol.
enum class ReduceOp : std::uint8_t {
  sum = 0,
  product,
  min,
  max,
  mean,  ///< the sum divided by the number of ranks
  bit_and,
  bit_or,
  bit_xor,
  logical_and,  ///< 1 where all are non-zero, else 0
  logical_or,   ///< 1 where any is non-zero, else 0
};
inline constexpr int reduce_op_count = 10;

/// "sum", "product", ..., "logical_or".
std::string_view to_string(ReduceOp op) noexcept;
/// The inverse of to_string, exact and case-sensitive.
std::optional<ReduceOp> parse_reduce_op(std::string_view name) noexcept;
std::ostream& operator<<(std::ostream& out, ReduceOp op);

/// Whether `op` is defined on `dtype`:
///
/// | type              | sum product | min max          | mean | bit_*  | logical_*  |
/// |-------------------|-------------|------------------|------|--------|------------|
/// | bool              | refused     | and, or          | no   | yes    | yes        |
/// | intN, uintN       | wrap        | yes              | no   | yes    | yes        |
/// | float16, bfloat16 | in float32  | yes (1)          | yes  | no     | yes        |
/// | float32, float64  | yes         | yes (1)          | yes  | no     | yes        |
/// | complexN          | yes         | no               | yes  | no     | no         |
/// | float8_*          | no          | no               | no   | no     | no         |
///
/// (1) NaN on any rank gives NaN, and -0 is less than +0. Sum, product and mean of float16 and bfloat16
/// accumulate in float32 over all ranks and round once. A NaN result is always the canonical quiet NaN.
/// Results of logical reductions are 0 or 1 in the element type; stored bools are 0 or 1.
bool supported(ReduceOp op, DType dtype) noexcept;

template <class T>
struct DTypeOf;  // no member `value` for types that are not elements
// clang-format off
template <> struct DTypeOf<bool> { static constexpr DType value = DType::bool_; };
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::int8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::int16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::int32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::int64; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::uint8; };
template <> struct DTypeOf<std::uint16_t> { static constexpr DType value = DType::uint16; };
template <> struct DTypeOf<std::uint32_t> { static constexpr DType value = DType::uint32; };
template <> struct DTypeOf<std::uint64_t> { static constexpr DType value = DType::uint64; };
template <> struct DTypeOf<float16> { static constexpr DType value = DType::float16; };
template <> struct DTypeOf<bfloat16> { static constexpr DType value = DType::bfloat16; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::float32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::float64; };
template <> struct DTypeOf<std::complex<float>> { static constexpr DType value = DType::complex64; };
template <> struct DTypeOf<std::complex<double>> { static constexpr DType value = DType::complex128; };
template <> struct DTypeOf<float8_e4m3> { static constexpr DType value = DType::float8_e4m3; };
template <> struct DTypeOf<float8_e5m2> { static constexpr DType value = DType::float8_e5m2; };
// clang-format on

/// A C++ type that rondo can move: one of the types named in DTypeOf.
template <class T>
concept Element = requires {
  { DTypeOf<T>::value } -> std::convertible_to<DType>;
};

template <Element T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace rondo
