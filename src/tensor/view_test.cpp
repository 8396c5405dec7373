#include "rondo/view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include "rondo/error.hpp"

namespace rondo {
namespace {

using Extents = std::vector<std::int64_t>;

Extents list(std::span<const std::int64_t> dims) { return {dims.begin(), dims.end()}; }

/// The text of the invalid_argument that `call` throws.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Shape, Text) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{7}), "[7]");
  EXPECT_EQ(to_string(Shape{2, 0, 3}), "[2, 0, 3]");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count(Shape{}), 1U);
  EXPECT_EQ(element_count(Shape{5}), 5U);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24U);
  EXPECT_EQ(element_count(Shape{3, 0}), 0U);
  EXPECT_EQ(element_count(Shape{1, 1, 1, 1, 1, 1, 1, 9}), 9U);
  EXPECT_EQ(byte_size(DType::complex128, Shape{2, 3}), 96U);
  EXPECT_EQ(byte_size(DType::bool_, Shape{}), 1U);
}

TEST(Shape, RefusesWhatIsNoShape) {
  EXPECT_EQ(refusal([] { element_count(Shape{-1, 2}); }), "shape [-1, 2]: extent -1 is negative");
  EXPECT_EQ(refusal([] { element_count(Shape{0, -3}); }), "shape [0, -3]: extent -3 is negative");
  EXPECT_EQ(refusal([] {
              element_count(Shape{1, 1, 1, 1, 1, 1, 1, 1, 1});
            }),
            "shape [1, 1, 1, 1, 1, 1, 1, 1, 1]: 9 axes, expected at most 8");
}

TEST(Shape, RefusesWhatDoesNotFit) {
  constexpr std::int64_t large = std::int64_t{1} << 62;
  EXPECT_EQ(element_count(Shape{large, 3}), 3U * static_cast<std::size_t>(large));
  EXPECT_NE(refusal([] { element_count(Shape{large, 4}); }).find("more elements than"), std::string::npos);
  EXPECT_EQ(element_count(Shape{large, large, 0}), 0U) << "no elements always fit";
  EXPECT_EQ(byte_size(DType::int16, Shape{large}), 2U * static_cast<std::size_t>(large));
  const std::string text = refusal([] { byte_size(DType::float32, Shape{large}); });
  EXPECT_NE(text.find("shape [4611686018427387904] of float32: more bytes than"), std::string::npos) << text;
  EXPECT_NE(refusal([] { byte_size(static_cast<DType>(17), Shape{1}); }).find("dtype 17"), std::string::npos);
}

TEST(View, OfARange) {
  std::vector<std::int32_t> values{4, 5, 6};
  const View view = values;
  EXPECT_EQ(view.dtype(), DType::int32);
  EXPECT_EQ(list(view.shape()), Extents{3});
  EXPECT_EQ(list(view.strides()), Extents{1});
  EXPECT_EQ(view.count(), 3U);
  EXPECT_EQ(view.bytes(), 12U);
  EXPECT_TRUE(view.contiguous());
  EXPECT_EQ(static_cast<void*>(view.data()), values.data());
  const ConstView read = view;
  EXPECT_EQ(read.data(), view.data());
  EXPECT_EQ(list(read.shape()), Extents{3});
  const std::array<double, 0> none{};
  const ConstView empty = none;
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.dtype(), DType::float64);
}

TEST(View, OfAShape) {
  std::array<float, 24> memory{};
  const View view(memory.data(), {2, 3, 4});
  EXPECT_EQ(list(view.strides()), (Extents{12, 4, 1}));
  EXPECT_EQ(view.bytes(), sizeof(memory));
  EXPECT_TRUE(view.contiguous());
  const View scalar(memory.data(), {});
  EXPECT_EQ(scalar.count(), 1U);
  EXPECT_TRUE(scalar.shape().empty());
  EXPECT_TRUE(scalar.contiguous());
  const View typed(DType::complex64, memory.data(), std::size_t{12});
  EXPECT_EQ(typed.bytes(), 96U);
}

TEST(View, KnowsWhenItIsContiguous) {
  std::array<float, 64> memory{};
  const float* data = memory.data();
  EXPECT_TRUE(ConstView(data, {2, 3}, {3, 1}).contiguous());
  EXPECT_FALSE(ConstView(data, {2, 3}, {4, 1}).contiguous());
  EXPECT_FALSE(ConstView(data, {3, 2}, {1, 3}).contiguous()) << "a transpose";
  EXPECT_FALSE(ConstView(data, {5}, {2}).contiguous());
  EXPECT_FALSE(ConstView(data + 4, {5}, {-1}).contiguous());
  EXPECT_FALSE(ConstView(data, {5}, {0}).contiguous());
  EXPECT_TRUE(ConstView(data, {1}, {17}).contiguous()) << "a stride that is never taken";
  EXPECT_TRUE(ConstView(data, {2, 1, 3}, {3, -9, 1}).contiguous());
  EXPECT_TRUE(ConstView(data, {2, 0}, {5, 5}).contiguous());
  EXPECT_TRUE(ConstView(data, Extents{}, Extents{}).contiguous());
}

TEST(View, RefusesStridesThatDoNotFitTheShape) {
  std::array<float, 8> memory{};
  float* data = memory.data();
  EXPECT_EQ(refusal([=] {
              View(data, {2, 3}, {1});
            }),
            "strides [1] of shape [2, 3]: 1 given, expected one for each of 2 axes");
  EXPECT_EQ(refusal([=] {
              ConstView(data, {2}, {2, 1});
            }),
            "strides [2, 1] of shape [2]: 2 given, expected one for each of 1 axes");
  EXPECT_EQ(refusal([=] { View(data, {-1, 2}, {2, 1}); }), "shape [-1, 2]: extent -1 is negative");
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t stride : {most, least, most / 4, least / 4}) {
    const std::string text = refusal([=] { ConstView(data, {3}, {stride}); });
    EXPECT_NE(text.find("further apart"), std::string::npos) << stride;
  }
  EXPECT_EQ(ConstView(data, {1}, {least}).count(), 1U);
}

TEST(View, WritesDistinctElementsOnly) {
  std::array<float, 8> memory{};
  float* data = memory.data();
  EXPECT_EQ(refusal([=] {
              View(data, {2, 3}, {3, 0});
            }),
            "strides [3, 0] of shape [2, 3]: stride 0 names one element 3 times, expected distinct elements "
            "to write "
            "to");
  EXPECT_EQ(View(data, {2, 1}, {3, 0}).count(), 2U) << "one element along the axis is no repetition";
  EXPECT_EQ(ConstView(data, {2, 3}, {3, 0}).count(), 6U) << "reading may repeat";
}

}  // namespace
}  // namespace rondo
