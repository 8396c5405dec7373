#include "rondo/tensor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "rondo/error.hpp"

namespace rondo {
namespace {

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const std::span<const T> all = tensor.span<T>();
  return {all.begin(), all.end()};
}

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Tensor, DefaultIsAnEmptyVector) {
  const Tensor tensor;
  EXPECT_EQ(tensor.dtype(), DType::float32);
  EXPECT_EQ(tensor.shape(), Shape{0});
  EXPECT_EQ(tensor.count(), 0U);
  EXPECT_EQ(tensor.bytes(), 0U);
  EXPECT_TRUE(tensor.span<float>().empty());
  EXPECT_FALSE(tensor.shares_memory_with(Tensor()));
  EXPECT_TRUE(tensor.shares_memory_with(Tensor(tensor)));
}

TEST(Tensor, StartsAsZeros) {
  const Tensor tensor(DType::complex128, {3, 5});
  EXPECT_EQ(tensor.count(), 15U);
  EXPECT_EQ(tensor.bytes(), 240U);
  EXPECT_EQ(values_of<std::complex<double>>(tensor), std::vector<std::complex<double>>(15));
}

TEST(Tensor, HoldsACopyOfValues) {
  std::vector<std::int16_t> values{1, -2, 3, -4, 5, -6};
  const Tensor tensor(values, {2, 3});
  values.assign(6, 0);
  EXPECT_EQ(tensor.dtype(), DType::int16);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(values_of<std::int16_t>(tensor), (std::vector<std::int16_t>{1, -2, 3, -4, 5, -6}));
  EXPECT_EQ(values_of<double>(Tensor::of({1.5, 2.5})), (std::vector<double>{1.5, 2.5}));
  const Tensor scalar = Tensor::scalar(std::uint64_t{1} << 63U);
  EXPECT_EQ(scalar.shape(), Shape{});
  EXPECT_EQ(values_of<std::uint64_t>(scalar), std::vector<std::uint64_t>{std::uint64_t{1} << 63U});
}

TEST(Tensor, PacksAStridedView) {
  const std::array<float, 6> memory{0, 1, 2, 3, 4, 5};
  const Tensor transposed(ConstView(memory.data(), {3, 2}, {1, 3}));
  EXPECT_EQ(transposed.shape(), (Shape{3, 2}));
  EXPECT_EQ(values_of<float>(transposed), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  const Tensor repeated(ConstView(memory.data() + 4, {3}, {0}));
  EXPECT_EQ(values_of<float>(repeated), (std::vector<float>{4, 4, 4}));
}

TEST(Tensor, HandlesShareAndClonesDoNot) {
  Tensor tensor = Tensor::of<std::int32_t>({1, 2, 3, 4});
  const Tensor handle = tensor;
  const Tensor reshaped = tensor.reshape({2, 2});
  const Tensor copy = tensor.clone();
  tensor.span<std::int32_t>()[2] = 30;
  EXPECT_EQ(values_of<std::int32_t>(handle)[2], 30);
  EXPECT_EQ(values_of<std::int32_t>(reshaped)[2], 30);
  EXPECT_EQ(values_of<std::int32_t>(copy)[2], 3);
  EXPECT_TRUE(reshaped.shares_memory_with(tensor));
  EXPECT_FALSE(copy.shares_memory_with(tensor));
  EXPECT_EQ(reshaped.shape(), (Shape{2, 2}));
  EXPECT_EQ(tensor.shape(), Shape{4});
}

TEST(Tensor, ElementsOutliveTheFirstHandle) {
  std::optional<Tensor> first = Tensor::of<std::int8_t>({7, 8, 9});
  const Tensor second = *first;
  first.reset();
  EXPECT_EQ(values_of<std::int8_t>(second), (std::vector<std::int8_t>{7, 8, 9}));
}

TEST(Tensor, ViewsSeeTheElements) {
  Tensor tensor(DType::float64, {2, 2});
  const View view = tensor.view();
  EXPECT_EQ(view.shape()[1], 2);
  reinterpret_cast<double*>(view.data())[3] = 2.25;
  EXPECT_EQ(values_of<double>(tensor), (std::vector<double>{0, 0, 0, 2.25}));
  const ConstView read = std::as_const(tensor);
  EXPECT_EQ(read.data(), view.data());
}

TEST(Tensor, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal([] { Tensor(DType::int8, {2, -1}); }), "shape [2, -1]: extent -1 is negative");
  EXPECT_EQ(refusal([] {
              Tensor(std::vector<float>{1, 2, 3}, {2, 2});
            }),
            "shape [2, 2]: 4 elements, expected 3");
  EXPECT_EQ(refusal([] { Tensor::of({1.0, 2.0}).reshape({3}); }), "shape [3]: 3 elements, expected 2");
  EXPECT_EQ(refusal([] {
              Tensor::of({1.0, 2.0}).span<float>();
            }),
            "span of float32: the tensor holds float64");
}

TEST(Tensor, Text) {
  std::ostringstream text;
  text << Tensor(DType::float32, {2, 2});
  EXPECT_EQ(text.str(), "Tensor float32 [2, 2]");
}

}  // namespace
}  // namespace rondo
