#include "tensor/layout.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

namespace rondo::tensor {
namespace {

/// Shape and strides of a view, and the element of its memory that index 0 names.
struct Picture {
  Shape shape;
  Shape strides;
  std::size_t origin = 0;
};

/// Where each element lies, in logical order, by plain counting.
std::vector<std::size_t> places(const Picture& picture) {
  std::vector<std::size_t> result;
  const std::size_t count = element_count(picture.shape);
  for (std::size_t number = 0; number < count; ++number) {
    std::size_t left = number;
    auto place = static_cast<std::int64_t>(picture.origin);
    for (std::size_t axis = picture.shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(picture.shape[axis]);
      place += static_cast<std::int64_t>(left % extent) * picture.strides[axis];
      left /= extent;
    }
    result.push_back(static_cast<std::size_t>(place));
  }
  return result;
}

std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> result(bytes);
  for (std::byte& value : result) value = static_cast<std::byte>(random());
  return result;
}

/// Packs and unpacks `picture` over `elements` elements of memory, and compares with copying one by one.
void check(DType dtype, const Picture& picture, std::size_t elements) {
  SCOPED_TRACE(std::string(to_string(dtype)) + " " + to_string(picture.shape) + " strides " +
               to_string(picture.strides));
  const std::size_t size = size_of(dtype);
  const std::vector<std::size_t> where = places(picture);
  std::vector<std::byte> memory = noise(elements * size, 1);
  std::vector<std::byte> flat(where.size() * size);
  std::vector<std::byte> expected(flat.size());
  for (std::size_t i = 0; i < where.size(); ++i) {
    std::memcpy(expected.data() + i * size, memory.data() + where[i] * size, size);
  }
  const ConstView from(dtype, memory.data() + picture.origin * size, picture.shape, picture.strides);
  pack(from, flat);
  ASSERT_EQ(flat, expected);

  if (std::find(picture.strides.begin(), picture.strides.end(), 0) != picture.strides.end()) return;
  const std::vector<std::byte> fresh = noise(flat.size(), 2);
  std::vector<std::byte> wanted = memory;
  for (std::size_t i = 0; i < where.size(); ++i) {
    std::memcpy(wanted.data() + where[i] * size, fresh.data() + i * size, size);
  }
  unpack(fresh, View(dtype, memory.data() + picture.origin * size, picture.shape, picture.strides));
  ASSERT_EQ(memory, wanted) << "unpacked, gaps included";
}

constexpr DType every_size[] = {DType::uint8, DType::float16, DType::int32, DType::complex64,
                                DType::complex128};

TEST(Layout, PicturesOfEveryElementSize) {
  const Picture pictures[] = {
      {{}, {}},                       // a scalar
      {{12}, {1}},                    // flat
      {{12}, {2}},                    // every second element
      {{12}, {-1}, 11},               // backwards
      {{4, 3}, {3, 1}},               // row-major
      {{3, 4}, {1, 3}},               // a transpose
      {{4}, {3}, 1},                  // a column
      {{4, 2}, {5, 1}, 2},            // rows with gaps
      {{2, 3, 4}, {12, 1, 3}},        // the inner axes transposed
      {{2, 3, 4}, {-12, 4, 1}, 12},   // outer axis backwards
      {{2, 3, 2}, {-6, -2, -1}, 11},  // all backwards: one run
      {{4, 3}, {0, 1}},               // one row, repeated
      {{4, 3}, {1, 0}},               // a column, repeated
      {{1, 5, 1}, {99, 2, -7}},       // axes of one element
      {{0, 5}, {5, 1}},               // nothing
      {{5, 0}, {1, 7}},               // nothing
      {{1, 2, 1, 2, 1, 2, 1, 2}, {0, 1, 0, 4, 0, 2, 0, 8}},
      {{2, 2, 2, 2, 2, 2, 2, 2}, {128, 64, 32, 16, 8, 4, 2, 1}},
      {{2, 2, 2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32, 64, 128}},
      {{2, 2, 2, 2, 2, 2, 2, 2}, {192, 64, 32, 16, 8, 4, 2, 1}},
  };
  for (const DType dtype : every_size) {
    for (const Picture& picture : pictures) check(dtype, picture, 400);
  }
}

TEST(Layout, RandomViewsOfARowMajorBlock) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) { return static_cast<std::int64_t>(random() % limit); };
  for (int round = 0; round < 3000; ++round) {
    // A block of memory, its axes sliced with a step of either sign and shuffled.
    const auto axes = static_cast<std::size_t>(below(5)) + 1;
    Picture picture;
    std::int64_t place = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::int64_t extent = below(5) + 1;
      const std::int64_t step = below(3) + 1;
      const bool backwards = below(3) == 0;
      picture.shape.push_back(extent);
      picture.strides.push_back(backwards ? -place * step : place * step);
      if (backwards) picture.origin += static_cast<std::size_t>((extent - 1) * place * step);
      place *= extent * step;
    }
    const auto turn = static_cast<std::ptrdiff_t>(below(axes));
    std::rotate(picture.shape.begin(), picture.shape.begin() + turn, picture.shape.end());
    std::rotate(picture.strides.begin(), picture.strides.begin() + turn, picture.strides.end());
    if (below(2) == 0) {
      std::reverse(picture.shape.begin(), picture.shape.end());
      std::reverse(picture.strides.begin(), picture.strides.end());
    }
    check(every_size[static_cast<std::size_t>(round) % std::size(every_size)], picture,
          static_cast<std::size_t>(place));
    if (HasFatalFailure()) return;
  }
}

TEST(Layout, MemoryRangeHoldsEveryElement) {
  const std::vector<std::int32_t> memory(100);
  const std::int32_t* data = memory.data();
  const auto range = [&](std::ptrdiff_t first, std::ptrdiff_t end) {
    return MemoryRange{reinterpret_cast<const std::byte*>(data + first),
                       reinterpret_cast<const std::byte*>(data + end)};
  };
  EXPECT_EQ(memory_range(ConstView(data, {3, 4})), range(0, 12));
  EXPECT_EQ(memory_range(ConstView(data, Shape{})), range(0, 1));
  EXPECT_EQ(memory_range(ConstView(data + 9, {10}, {-1})), range(0, 10));
  EXPECT_EQ(memory_range(ConstView(data, {4}, {5})), range(0, 16));
  EXPECT_EQ(memory_range(ConstView(data + 50, {3, 4}, {-20, 3})), range(10, 60));
  EXPECT_EQ(memory_range(ConstView(data, {9, 2}, {0, 7})), range(0, 8));
  EXPECT_TRUE(memory_range(ConstView(data, {0, 4})).empty());
  EXPECT_TRUE(memory_range(ConstView(data + 3, {4, 0}, {-9, 2})).empty());
}

TEST(Layout, RangesOverlapWhenTheyShareAByte) {
  const std::vector<std::int32_t> memory(20);
  const std::int32_t* data = memory.data();
  const auto at = [&](std::ptrdiff_t first, std::int64_t count) {
    return memory_range(ConstView(data + first, {count}));
  };
  EXPECT_TRUE(overlaps(at(0, 5), at(4, 5)));
  EXPECT_TRUE(overlaps(at(4, 5), at(0, 5)));
  EXPECT_TRUE(overlaps(at(0, 20), at(7, 1)));
  EXPECT_TRUE(overlaps(at(7, 1), at(7, 1)));
  EXPECT_FALSE(overlaps(at(0, 5), at(5, 5)));
  EXPECT_FALSE(overlaps(at(5, 5), at(0, 5)));
  EXPECT_FALSE(overlaps(at(0, 20), at(7, 0)));
}

}  // namespace
}  // namespace rondo::tensor
