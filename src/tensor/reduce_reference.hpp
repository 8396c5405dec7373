#pragma once
/// What tests of reductions compare with: a reference of one element at a time, written from the table in
/// dtype.hpp, and inputs that hold what is special in each type.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "rondo/dtype.hpp"

namespace rondo::tensor::testing_support {

using Bytes = std::vector<std::byte>;

template <class T>
T canonical(T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (std::isnan(value)) return std::bit_cast<float>(0x7fc00000U);
  } else if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(value)) return std::bit_cast<double>(0x7ff8000000000000U);
  }
  return value;
}

template <class T>
T extreme(T a, T b, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == 0 && b == 0) return std::signbit(a) == largest ? b : a;
  }
  return (a < b) == largest ? b : a;
}

template <class T>
T bitwise(ReduceOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (op == ReduceOp::bit_and) return static_cast<T>(a & b);
    if (op == ReduceOp::bit_or) return static_cast<T>(a | b);
    return static_cast<T>(a ^ b);
  } else {
    ADD_FAILURE() << "no bits of " << to_string(op);
    return a;
  }
}

template <class T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

/// Integers, float32, float64 and, as bool is never added, bool.
template <class T>
T combined(ReduceOp op, const std::vector<T>& inputs, std::size_t divisor) {
  const bool logical = op == ReduceOp::logical_and || op == ReduceOp::logical_or;
  T all = logical ? static_cast<T>(inputs[0] != T{0}) : inputs[0];
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    const T next = inputs[k];
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::mean:
        all = plus(all, next);
        break;
      case ReduceOp::product:
        all = times(all, next);
        break;
      case ReduceOp::min:
        all = extreme(all, next, false);
        break;
      case ReduceOp::max:
        all = extreme(all, next, true);
        break;
      case ReduceOp::bit_and:
      case ReduceOp::bit_or:
      case ReduceOp::bit_xor:
        all = bitwise(op, all, next);
        break;
      case ReduceOp::logical_and:
        all = static_cast<T>(all != T{0} && next != T{0});
        break;
      case ReduceOp::logical_or:
        all = static_cast<T>(all != T{0} || next != T{0});
        break;
    }
  }
  if (divisor > 0) all = static_cast<T>(all / static_cast<T>(divisor));
  return canonical(all);
}

template <class T>
std::complex<T> combined(ReduceOp op, const std::vector<std::complex<T>>& inputs, std::size_t divisor) {
  // volatile: each operation rounds on its own, also where the compiler may fuse two.
  volatile T real = inputs[0].real();
  volatile T imag = inputs[0].imag();
  for (std::size_t k = 1; k < inputs.size(); ++k) {
    const T next_real = inputs[k].real();
    const T next_imag = inputs[k].imag();
    if (op == ReduceOp::product) {
      volatile T rr = real * next_real;
      volatile T ii = imag * next_imag;
      volatile T ri = real * next_imag;
      volatile T ir = imag * next_real;
      real = rr - ii;
      imag = ri + ir;
    } else {
      real = real + next_real;
      imag = imag + next_imag;
    }
  }
  if (divisor > 0) {
    real = real / static_cast<T>(divisor);
    imag = imag / static_cast<T>(divisor);
  }
  return {canonical<T>(real), canonical<T>(imag)};
}

template <class Half>
Half combined_half(ReduceOp op, const std::vector<Half>& inputs, std::size_t divisor) {
  std::vector<float> wide;
  for (const Half input : inputs) wide.push_back(static_cast<float>(input));
  return Half(combined(op, wide, divisor));  // min, max and logic are exact, so that rounding changes nothing
}

inline float16 combined(ReduceOp op, const std::vector<float16>& inputs, std::size_t divisor) {
  return combined_half(op, inputs, divisor);
}

inline bfloat16 combined(ReduceOp op, const std::vector<bfloat16>& inputs, std::size_t divisor) {
  return combined_half(op, inputs, divisor);
}

template <class T>
Bytes reference(ReduceOp op, const std::vector<Bytes>& inputs, std::size_t count, std::size_t divisor) {
  Bytes result(count * sizeof(T));
  std::vector<T> elements(inputs.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      std::memcpy(&elements[k], inputs[k].data() + i * sizeof(T), sizeof(T));
    }
    const T one = combined(op, elements, divisor);
    std::memcpy(result.data() + i * sizeof(T), &one, sizeof(T));
  }
  return result;
}

// std::vector<bool> has no elements to copy to.
template <>
inline Bytes reference<bool>(ReduceOp op, const std::vector<Bytes>& inputs, std::size_t count,
                             std::size_t divisor) {
  return reference<std::uint8_t>(op, inputs, count, divisor);
}

using Reference = Bytes (*)(ReduceOp, const std::vector<Bytes>&, std::size_t, std::size_t);

inline Reference reference_of(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return reference<bool>;
    case DType::int8:
      return reference<std::int8_t>;
    case DType::int16:
      return reference<std::int16_t>;
    case DType::int32:
      return reference<std::int32_t>;
    case DType::int64:
      return reference<std::int64_t>;
    case DType::uint8:
      return reference<std::uint8_t>;
    case DType::uint16:
      return reference<std::uint16_t>;
    case DType::uint32:
      return reference<std::uint32_t>;
    case DType::uint64:
      return reference<std::uint64_t>;
    case DType::float16:
      return reference<float16>;
    case DType::bfloat16:
      return reference<bfloat16>;
    case DType::float32:
      return reference<float>;
    case DType::float64:
      return reference<double>;
    case DType::complex64:
      return reference<std::complex<float>>;
    case DType::complex128:
      return reference<std::complex<double>>;
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      break;
  }
  return nullptr;
}

// ---- Inputs: random bits, small values, and what is special in the type.

template <class Unsigned>
Unsigned special(DType dtype, std::uint64_t pick) {
  if (dtype == DType::bool_) return static_cast<Unsigned>(pick % 2);
  constexpr int width = std::numeric_limits<Unsigned>::digits;
  constexpr auto top = static_cast<Unsigned>(std::uint64_t{1} << (width - 1));
  const Unsigned infinity = static_cast<Unsigned>(dtype == DType::float16    ? 0x7c00U
                                                  : dtype == DType::bfloat16 ? 0x7f80U
                                                  : width == 32              ? 0x7f800000U
                                                                             : 0x7ff0000000000000U);
  const Unsigned values[] = {
      0,
      top,  // -0, or the least integer
      1,    // the smallest subnormal
      static_cast<Unsigned>(top + 1),
      static_cast<Unsigned>(top - 1),  // the largest integer, or a NaN
      static_cast<Unsigned>(~Unsigned{0}),
      infinity,
      static_cast<Unsigned>(infinity | top),
      static_cast<Unsigned>(infinity + 1),  // signalling NaNs with a payload
      static_cast<Unsigned>((infinity + 5) | top),
      static_cast<Unsigned>(infinity - 1),  // the largest finite value
  };
  return values[pick % std::size(values)];
}

template <class Unsigned>
void fill(DType dtype, Bytes& bytes, std::mt19937_64& random) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Unsigned)) {
    const std::uint64_t kind = random() % 8;
    auto value = static_cast<Unsigned>(random());
    if (kind < 2 || dtype == DType::bool_) {
      value = special<Unsigned>(dtype, random());
    } else if (kind < 5) {
      // Values near one another, so that floats meet, round and cancel.
      const double near = static_cast<double>(static_cast<std::int64_t>(random() % 4001) - 2000) / 512.0;
      if (dtype == DType::float16) value = static_cast<Unsigned>(float16(static_cast<float>(near)).bits);
      if (dtype == DType::bfloat16) value = static_cast<Unsigned>(bfloat16(static_cast<float>(near)).bits);
      if (dtype == DType::float32 || dtype == DType::complex64) {
        value = static_cast<Unsigned>(std::bit_cast<std::uint32_t>(static_cast<float>(near) * 1.1F));
      }
      if (dtype == DType::float64 || dtype == DType::complex128) {
        value = static_cast<Unsigned>(std::bit_cast<std::uint64_t>(near * 1.1));
      }
    }
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  }
}

inline std::vector<Bytes> inputs_of(DType dtype, std::size_t k, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Bytes> inputs(k, Bytes(count * size_of(dtype)));
  const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
  for (Bytes& input : inputs) {
    switch (size_of(dtype) / (complex ? 2U : 1U)) {
      case 1:
        fill<std::uint8_t>(dtype, input, random);
        break;
      case 2:
        fill<std::uint16_t>(dtype, input, random);
        break;
      case 4:
        fill<std::uint32_t>(dtype, input, random);
        break;
      default:
        fill<std::uint64_t>(dtype, input, random);
        break;
    }
  }
  return inputs;
}

}  // namespace rondo::tensor::testing_support
