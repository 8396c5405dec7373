#include "support/values.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

namespace rondo::test {
namespace {

constexpr std::byte gap{0xA5};

/// +-1, +-2, the zeros, the infinities and NaN.
float special_value(std::uint64_t random) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 9> all = {
      1.0F, -1.0F, 2.0F, -2.0F, 0.0F, -0.0F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
  // Ordinary numbers are the most frequent ones, or every result would be NaN.
  return all[random % 3 == 0 ? (random >> 8) % all.size() : (random >> 8) % 4];
}

float real_value(Content content, std::uint64_t random) {
  switch (content) {
    case Content::bits:
    case Content::sums:
      return static_cast<float>(static_cast<int>(random % 201) - 100);
    case Content::factors:
      return (random & 8U) != 0 ? -std::array{0.5F, 1.0F, 2.0F}[random % 3]
                                : std::array{0.5F, 1.0F, 2.0F}[random % 3];
    case Content::special:
      return special_value(random);
    case Content::truth:
      return (random & 1U) != 0 ? 0.0F : ((random & 2U) != 0 ? -0.0F : 3.0F);
  }
  std::abort();
}

/// A unit times 2+i or 3+4i: no product of these has a zero part.
std::complex<float> gaussian(std::uint64_t random) {
  std::complex<float> value = (random & 4U) != 0 ? std::complex<float>(2, 1) : std::complex<float>(3, 4);
  for (std::uint64_t turn = random & 3U; turn > 0; --turn) value = {-value.imag(), value.real()};
  return value;
}

template <class T>
T from_bits(std::uint64_t random, std::uint64_t more) {
  const std::array<std::uint64_t, 2> both = {random, more};
  T value{};
  std::memcpy(static_cast<void*>(&value), both.data(), sizeof(T));
  return value;
}

template <class T>
T element(Content content, std::uint64_t salt, std::uint64_t rank, std::uint64_t index) {
  const std::uint64_t random = mix(salt, rank, index);
  if constexpr (std::is_same_v<T, bool>) {
    return (random & 1U) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (content == Content::truth && (random & 1U) != 0) return T{0};
    if (content == Content::factors) return static_cast<T>(random | 1U);
    return static_cast<T>(random);
  } else if (content == Content::bits || sizeof(T) == 1) {
    return from_bits<T>(random, mix(salt + 1, rank, index));
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using Part = typename T::value_type;
    const std::complex<float> product = gaussian(random);
    if (content == Content::factors)
      return {static_cast<Part>(product.real()), static_cast<Part>(product.imag())};
    return {static_cast<Part>(real_value(content, random)),
            static_cast<Part>(real_value(content, random >> 16))};
  } else if constexpr (sizeof(T) > 1) {
    return T(real_value(content, random));
  } else {
    return T{};
  }
}

/// Offset in elements of every index of a view, in logical order.
void for_each_offset(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                     const std::function<void(std::int64_t)>& visit) {
  if (std::ranges::find(shape, 0) != shape.end()) return;
  Shape index(shape.size(), 0);
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) offset += index[axis] * strides[axis];
    visit(offset);
    std::size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace

const std::vector<DType>& dtypes() {
  static const std::vector<DType> all = [] {
    std::vector<DType> made;
    for (int i = 0; i < dtype_count; ++i) made.push_back(static_cast<DType>(i));
    return made;
  }();
  return all;
}

const std::vector<ReduceOp>& reduce_ops() {
  static const std::vector<ReduceOp> all = [] {
    std::vector<ReduceOp> made;
    for (int i = 0; i < reduce_op_count; ++i) made.push_back(static_cast<ReduceOp>(i));
    return made;
  }();
  return all;
}

std::uint64_t mix(std::uint64_t salt, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t z = salt * 0xD1342543DE82EF95U + rank * 0xA24BAED4963EE407U + index * 0x9FB21C651E98DF25U;
  for (int round = 0; round < 2; ++round) {  // the finaliser of SplitMix64 (Steele, Lea, Flood 2014)
    z += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z ^= z >> 31U;
  }
  return z;
}

Content content_for(ReduceOp op, DType dtype) {
  const bool integer = dtype <= DType::uint64;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return integer ? Content::bits : Content::sums;
    case ReduceOp::product:
      return Content::factors;
    case ReduceOp::min:
    case ReduceOp::max:
      return integer ? Content::bits : Content::sums;
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
      return Content::bits;
    case ReduceOp::logical_and:
    case ReduceOp::logical_or:
      return Content::truth;
  }
  std::abort();
}

bool has_special(DType dtype) { return dtype >= DType::float16 && dtype <= DType::float64; }

Tensor values(DType dtype, std::span<const std::int64_t> shape, int rank, Content content,
              std::uint64_t salt) {
  Tensor made(dtype, shape);
  visit_dtype(dtype, [&](auto typed) {
    using T = decltype(typed);
    const std::span<T> elements = made.span<T>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = element<T>(content, salt, static_cast<std::uint64_t>(rank), i);
  });
  return made;
}

std::vector<Tensor> values_of_all(int size, DType dtype, std::span<const std::int64_t> shape, Content content,
                                  std::uint64_t salt) {
  std::vector<Tensor> all;
  for (int rank = 0; rank < size; ++rank) all.push_back(values(dtype, shape, rank, content, salt));
  return all;
}

std::vector<std::byte> pack(ConstView view) {
  const auto width = static_cast<std::int64_t>(size_of(view.dtype()));
  std::vector<std::byte> packed;
  packed.reserve(view.bytes());
  for_each_offset(view.shape(), view.strides(), [&](std::int64_t offset) {
    const std::byte* element = view.data() + offset * width;
    packed.insert(packed.end(), element, element + width);
  });
  return packed;
}

void unpack(std::span<const std::byte> packed, View view) {
  const auto width = static_cast<std::int64_t>(size_of(view.dtype()));
  const std::byte* next = packed.data();
  for_each_offset(view.shape(), view.strides(), [&](std::int64_t offset) {
    std::memcpy(view.data() + offset * width, next, static_cast<std::size_t>(width));
    next += width;
  });
}

testing::AssertionResult same_elements(ConstView actual, ConstView expected) {
  if (actual.dtype() != expected.dtype() || actual.count() != expected.count()) {
    return testing::AssertionFailure()
           << actual.dtype() << " " << to_string(actual.shape()) << " where " << expected.dtype() << " "
           << to_string(expected.shape()) << " is right";
  }
  if (actual.count() == 0) return testing::AssertionSuccess();
  if (actual.contiguous() && expected.contiguous() &&
      std::memcmp(actual.data(), expected.data(), actual.bytes()) == 0) {
    return testing::AssertionSuccess();
  }
  const std::vector<std::byte> left = pack(actual);
  const std::vector<std::byte> right = pack(expected);
  const auto differs = std::ranges::mismatch(left, right).in1;
  if (differs == left.end()) return testing::AssertionSuccess();
  const std::size_t width = size_of(actual.dtype());
  const auto at = static_cast<std::size_t>(differs - left.begin()) / width;
  const std::size_t wrong = [&] {
    std::size_t found = 0;
    for (std::size_t i = 0; i < actual.count(); ++i)
      found += std::memcmp(&left[i * width], &right[i * width], width) != 0 ? 1U : 0U;
    return found;
  }();
  testing::AssertionResult result = testing::AssertionFailure();
  result << actual.dtype() << " " << to_string(actual.shape()) << ": " << wrong << " of " << actual.count()
         << " elements differ, the first at " << at << ": ";
  const auto hex = [&](const std::vector<std::byte>& bytes) {
    std::string text;
    for (std::size_t i = width; i-- > 0;) {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = std::to_integer<unsigned>(bytes[at * width + i]);
      text += digits[byte >> 4U];
      text += digits[byte & 15U];
    }
    return text;
  };
  return result << hex(left) << " where " << hex(right) << " is right";
}

testing::AssertionResult same(ConstView actual, ConstView expected) {
  if (!std::ranges::equal(actual.shape(), expected.shape())) {
    return testing::AssertionFailure() << "shape " << to_string(actual.shape()) << " where "
                                       << to_string(expected.shape()) << " is right";
  }
  return same_elements(actual, expected);
}

const std::vector<Lie>& lies() {
  static const std::vector<Lie> all = {Lie::every_second, Lie::transposed, Lie::reversed};
  return all;
}

Strided::Strided(DType dtype, std::span<const std::int64_t> shape, Lie lie)
    : dtype_(dtype), shape_(shape.begin(), shape.end()), strides_(shape.size(), 1) {
  std::int64_t reach = 1;
  const std::size_t axes = shape_.size();
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t axis = lie == Lie::transposed ? i : axes - 1 - i;
    strides_[axis] = reach;
    reach *= std::max<std::int64_t>(shape_[axis], 1);
  }
  if (lie == Lie::every_second) {
    for (std::int64_t& stride : strides_) stride *= 2;
    reach *= 2;
  }
  if (lie == Lie::reversed && axes > 0) {
    first_ = static_cast<std::size_t>(strides_[0] * std::max<std::int64_t>(shape_[0] - 1, 0));
    strides_[0] = -strides_[0];
  }
  memory_.assign(static_cast<std::size_t>(reach) * size_of(dtype), gap);
}

Strided::Strided(const Tensor& elements, Lie lie) : Strided(elements.dtype(), elements.shape(), lie) {
  unpack(pack(elements), view());
}

View Strided::view() { return View(dtype_, memory_.data() + first_ * size_of(dtype_), shape_, strides_); }

bool Strided::gaps_untouched() {
  std::vector<std::byte> copy = memory_;
  memory_.swap(copy);
  unpack(std::vector<std::byte>(view().bytes(), gap), view());
  memory_.swap(copy);
  return std::ranges::all_of(copy, [](std::byte byte) { return byte == gap; });
}

}  // namespace rondo::test
