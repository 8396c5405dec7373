#pragma once
/// Test data: distinct, exact, a function of (rank, index); and comparison bit for bit.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::test {

/// All element types, in the order of the wire.
const std::vector<DType>& dtypes();
/// All reductions.
const std::vector<ReduceOp>& reduce_ops();

/// A well-mixed number of (salt, rank, index).
std::uint64_t mix(std::uint64_t salt, std::uint64_t rank, std::uint64_t index);

/// Calls `f` with a value of the C++ type of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return f(bool{});
    case DType::int8:
      return f(std::int8_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::uint16:
      return f(std::uint16_t{});
    case DType::uint32:
      return f(std::uint32_t{});
    case DType::uint64:
      return f(std::uint64_t{});
    case DType::float16:
      return f(float16{});
    case DType::bfloat16:
      return f(bfloat16{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex64:
      return f(std::complex<float>{});
    case DType::complex128:
      return f(std::complex<double>{});
    case DType::float8_e4m3:
      return f(float8_e4m3{});
    case DType::float8_e5m2:
      return f(float8_e5m2{});
  }
  std::abort();
}

/// What the elements are for.
enum class Content {
  bits,     ///< any bit pattern (bool: 0 or 1): for movement, and for integers, which wrap
  sums,     ///< small integers: sums are exact in any order
  factors,  ///< powers of two, or of one Gaussian prime: products are exact in any order
  special,  ///< zeros of both signs, infinities and NaN among small powers of two (floating point only)
  truth,    ///< about half of them zero
};
/// Content on which `op` over `dtype` has one exact result, whatever the order.
Content content_for(ReduceOp op, DType dtype);
/// True for the types on which Content::special says more.
bool has_special(DType dtype);

/// Elements of rank `rank`.
Tensor values(DType dtype, std::span<const std::int64_t> shape, int rank, Content content = Content::bits,
              std::uint64_t salt = 0);
/// The same for every rank of a group of `size`.
std::vector<Tensor> values_of_all(int size, DType dtype, std::span<const std::int64_t> shape,
                                  Content content = Content::bits, std::uint64_t salt = 0);

/// Elements of `view` in logical order, as bytes.
std::vector<std::byte> pack(ConstView view);
/// Writes packed elements to `view`.
void unpack(std::span<const std::byte> packed, View view);
/// Equal element types, counts and bits; a shape is not compared.
testing::AssertionResult same_elements(ConstView actual, ConstView expected);
/// The same, and equal shapes.
testing::AssertionResult same(ConstView actual, ConstView expected);

/// How a view lies in memory.
enum class Lie { every_second, transposed, reversed };
const std::vector<Lie>& lies();

/// A view with gaps, or against the grain, over memory of its own.
class Strided {
 public:
  Strided(DType dtype, std::span<const std::int64_t> shape, Lie lie);
  Strided(const Tensor& elements, Lie lie);

  View view();
  /// Nothing was written but elements of the view.
  bool gaps_untouched();

 private:
  DType dtype_;
  Shape shape_;
  Shape strides_;
  std::size_t first_ = 0;  // elements before the view's first one
  std::vector<std::byte> memory_;
};

}  // namespace rondo::test
