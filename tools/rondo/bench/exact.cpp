#include "bench/exact.hpp"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rondo::tools::bench {

namespace {

/// A well mixed number for (rank, position, part of a complex number): splitmix64's finaliser.
std::uint64_t mixed(int rank, std::uint64_t index, unsigned part) noexcept {
  std::uint64_t x = (index + 1) * 0x9e3779b97f4a7c15U +
                    (static_cast<std::uint64_t>(rank) * 2 + part + 1) * 0xd1342543de82ef95U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::int64_t below(std::uint64_t value, std::uint64_t limit) noexcept {
  return static_cast<std::int64_t>(value % limit);
}

// Whole numbers, small enough that sums and products of all ranks are exact in float32, where the smaller
// floats accumulate too; a result is rounded once, as the expected value is.
struct Whole {
  Reduction reduction;
  bool boolean;

  std::int64_t contribution(int rank, std::uint64_t index, unsigned part) const noexcept {
    const auto ranks = static_cast<std::uint64_t>(reduction.ranks);
    const auto mine = static_cast<std::uint64_t>(rank);
    const std::uint64_t value = mixed(rank, index, part);
    switch (reduction.op) {
      case ReduceOp::sum:
      case ReduceOp::min:
      case ReduceOp::max:
      case ReduceOp::bit_and:
      case ReduceOp::bit_or:
      case ReduceOp::bit_xor:
        return below(value, boolean ? 2 : 32);
      case ReduceOp::product:  // real; two ranks that change with the position are not 1
        if (part != 0) return 0;
        if (mine == index % ranks) return 2 + below(value, 3);
        return mine == (index + 1) % ranks ? 3 : 1;
      case ReduceOp::mean:  // the mean is a whole number
        return reduction.ranks * below(value, 4) + below(mixed(-1, index, part), 16);
      case ReduceOp::logical_and:
        return value % (2 * ranks) == 0 ? 0 : 1 + below(value >> 32, 7);
      case ReduceOp::logical_or:
        return value % (2 * ranks) == 0 ? 1 + below(value >> 32, 7) : 0;
    }
    return 0;
  }

  std::int64_t combine(std::int64_t a, std::int64_t b) const noexcept {
    switch (reduction.op) {
      case ReduceOp::sum:
      case ReduceOp::mean:
        return a + b;
      case ReduceOp::product:
        return a * b;
      case ReduceOp::min:
        return std::min(a, b);
      case ReduceOp::max:
        return std::max(a, b);
      case ReduceOp::bit_and:
        return a & b;
      case ReduceOp::bit_or:
        return a | b;
      case ReduceOp::bit_xor:
        return a ^ b;
      case ReduceOp::logical_and:
        return a != 0 && b != 0 ? 1 : 0;
      case ReduceOp::logical_or:
        return a != 0 || b != 0 ? 1 : 0;
    }
    return 0;
  }

  std::int64_t reduced(std::uint64_t index, unsigned part) const noexcept {
    std::int64_t value = contribution(0, index, part);
    const bool logical = reduction.op == ReduceOp::logical_and || reduction.op == ReduceOp::logical_or;
    if (logical) value = value != 0 ? 1 : 0;
    for (int rank = 1; rank < reduction.ranks; ++rank)
      value = combine(value, contribution(rank, index, part));
    return reduction.op == ReduceOp::mean ? value / reduction.ranks : value;
  }
};

template <class T>
constexpr bool is_complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
T encoded(std::int64_t real, std::int64_t imaginary) {
  if constexpr (is_complex<T>) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(real), static_cast<Part>(imaginary));
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(real));
  } else if constexpr (std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>) {
    return T{static_cast<std::uint8_t>(real)};  // never reduced
  } else if constexpr (std::is_same_v<T, bool>) {
    return real != 0;
  } else {
    return static_cast<T>(real);  // whole numbers wrap, as sums of them do
  }
}

/// Every element of `out` is value(position, part), for both parts of a complex number.
template <class T, class Value>
void fill_typed(const View& out, std::size_t first, const Value& value) {
  std::byte* at = out.data();
  for (std::size_t i = 0; i < out.count(); ++i, at += sizeof(T)) {
    const T element = encoded<T>(value(first + i, 0U), is_complex<T> ? value(first + i, 1U) : 0);
    std::memcpy(at, &element, sizeof(T));
  }
}

template <class Value>
void fill(const View& out, std::size_t first, const Value& value) {
  // clang-format off
  switch (out.dtype()) {
    case DType::bool_: return fill_typed<bool>(out, first, value);
    case DType::int8: return fill_typed<std::int8_t>(out, first, value);
    case DType::int16: return fill_typed<std::int16_t>(out, first, value);
    case DType::int32: return fill_typed<std::int32_t>(out, first, value);
    case DType::int64: return fill_typed<std::int64_t>(out, first, value);
    case DType::uint8: return fill_typed<std::uint8_t>(out, first, value);
    case DType::uint16: return fill_typed<std::uint16_t>(out, first, value);
    case DType::uint32: return fill_typed<std::uint32_t>(out, first, value);
    case DType::uint64: return fill_typed<std::uint64_t>(out, first, value);
    case DType::float16: return fill_typed<float16>(out, first, value);
    case DType::bfloat16: return fill_typed<bfloat16>(out, first, value);
    case DType::float32: return fill_typed<float>(out, first, value);
    case DType::float64: return fill_typed<double>(out, first, value);
    case DType::complex64: return fill_typed<std::complex<float>>(out, first, value);
    case DType::complex128: return fill_typed<std::complex<double>>(out, first, value);
    case DType::float8_e4m3: return fill_typed<float8_e4m3>(out, first, value);
    case DType::float8_e5m2: return fill_typed<float8_e5m2>(out, first, value);
  }
  // clang-format on
}

}  // namespace

void fill_contribution(const View& out, Reduction reduction, int rank, std::size_t first) {
  const Whole whole{reduction, out.dtype() == DType::bool_};
  fill(out, first, [&](std::uint64_t index, unsigned part) { return whole.contribution(rank, index, part); });
}

void fill_reduced(const View& out, Reduction reduction, std::size_t first) {
  const Whole whole{reduction, out.dtype() == DType::bool_};
  fill(out, first, [&](std::uint64_t index, unsigned part) { return whole.reduced(index, part); });
}

void fill_moved(const View& out, int rank, std::size_t first) {
  const std::size_t width = size_of(out.dtype());
  std::byte* at = out.data();
  for (std::size_t i = 0; i < out.count(); ++i, at += width) {
    std::uint64_t bits[2] = {mixed(rank, first + i, 0), mixed(rank, first + i, 1)};
    if (out.dtype() == DType::bool_)
      bits[0] = (bits[0] & 1) != 0 ? ~std::uint64_t{0} / 255 : 0;  // bytes of 0 or 1
    std::memcpy(at, bits, width);
  }
}

void fill_poison(const View& out) {
  if (out.bytes() != 0) std::memset(out.data(), 0xee, out.bytes());
}

std::size_t count_wrong(const ConstView& got, const ConstView& expected) {
  const std::size_t width = size_of(got.dtype());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.count(); ++i)
    if (std::memcmp(got.data() + i * width, expected.data() + i * width, width) != 0) ++wrong;
  return wrong;
}

}  // namespace rondo::tools::bench
