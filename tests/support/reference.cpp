#include "support/reference.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "support/values.hpp"

namespace rondo::test {
namespace {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_complex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
T canonical(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

/// NaN wins; -0 is less than +0.
template <class T>
T extreme(T a, T b, bool larger) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) == larger ? b : a;
  return (a < b) == larger ? b : a;
}

template <class T>
T fold_real(const std::vector<T>& in, ReduceOp op) {
  T result = in[0];
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (op == ReduceOp::sum || op == ReduceOp::mean) result += in[i];
    if (op == ReduceOp::product) result *= in[i];
    if (op == ReduceOp::min || op == ReduceOp::max) result = extreme(result, in[i], op == ReduceOp::max);
  }
  if (op == ReduceOp::mean) result /= static_cast<T>(in.size());
  if (op == ReduceOp::logical_and || op == ReduceOp::logical_or) {
    bool all = true;
    bool any = false;
    for (const T value : in) {
      all = all && value != T{0};
      any = any || value != T{0};
    }
    return (op == ReduceOp::logical_and ? all : any) ? T{1} : T{0};
  }
  return canonical(result);
}

template <class T>
T fold_half(const std::vector<T>& in, ReduceOp op) {
  std::vector<float> wide;
  for (const T value : in) wide.push_back(static_cast<float>(value));
  return T(fold_real(wide, op));
}

template <class T>
T fold_complex(const std::vector<T>& in, ReduceOp op) {
  using Part = typename T::value_type;
  Part re = in[0].real();
  Part im = in[0].imag();
  for (std::size_t i = 1; i < in.size(); ++i) {
    const Part c = in[i].real();
    const Part d = in[i].imag();
    if (op == ReduceOp::product) {
      const Part next = re * c - im * d;
      im = re * d + im * c;
      re = next;
    } else {
      re += c;
      im += d;
    }
  }
  if (op == ReduceOp::mean) {
    re /= static_cast<Part>(in.size());
    im /= static_cast<Part>(in.size());
  }
  return {re, im};
}

template <class T>
T fold_integer(const std::vector<T>& in, ReduceOp op) {
  std::uint64_t wrapped = static_cast<std::uint64_t>(in[0]);  // arithmetic modulo 2^64, then cut
  T smallest = in[0];
  T largest = in[0];
  bool all = in[0] != T{0};
  bool any = in[0] != T{0};
  for (std::size_t i = 1; i < in.size(); ++i) {
    const auto value = static_cast<std::uint64_t>(in[i]);
    if (op == ReduceOp::sum) wrapped += value;
    if (op == ReduceOp::product) wrapped *= value;
    if (op == ReduceOp::bit_and) wrapped &= value;
    if (op == ReduceOp::bit_or) wrapped |= value;
    if (op == ReduceOp::bit_xor) wrapped ^= value;
    smallest = in[i] < smallest ? in[i] : smallest;
    largest = in[i] > largest ? in[i] : largest;
    all = all && in[i] != T{0};
    any = any || in[i] != T{0};
  }
  if (op == ReduceOp::min) return smallest;
  if (op == ReduceOp::max) return largest;
  if (op == ReduceOp::logical_and) return static_cast<T>(all);
  if (op == ReduceOp::logical_or) return static_cast<T>(any);
  if constexpr (std::is_same_v<T, bool>) {
    return wrapped != 0;
  } else {
    return static_cast<T>(wrapped);
  }
}

template <class T>
T fold(const std::vector<T>& in, ReduceOp op) {
  if constexpr (is_half<T>) {
    return fold_half(in, op);
  } else if constexpr (is_complex<T>) {
    return fold_complex(in, op);
  } else if constexpr (std::is_integral_v<T>) {
    return fold_integer(in, op);
  } else if constexpr (std::is_floating_point_v<T>) {
    return fold_real(in, op);
  } else {
    return in[0];  // float8 has no reduction; nobody asks
  }
}

std::size_t row_bytes(const Tensor& tensor) {
  std::size_t bytes = size_of(tensor.dtype());
  for (std::size_t axis = 1; axis < tensor.shape().size(); ++axis)
    bytes *= static_cast<std::size_t>(tensor.shape()[axis]);
  return bytes;
}

}  // namespace

Tensor reference_reduce(const std::vector<Tensor>& inputs, ReduceOp op) {
  if (inputs.size() == 1) return inputs[0];  // a group of one gets its input back, whatever the operation
  Tensor result(inputs[0].dtype(), inputs[0].shape());
  visit_dtype(result.dtype(), [&](auto typed) {
    using T = decltype(typed);
    const std::span<T> out = result.span<T>();
    std::vector<std::span<const T>> in;
    for (const Tensor& input : inputs) in.push_back(input.span<T>());
    std::vector<T> column(inputs.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t rank = 0; rank < in.size(); ++rank) column[rank] = in[rank][i];
      out[i] = fold<T>(column, op);
    }
  });
  return result;
}

Tensor reference_rows(const Tensor& from, std::size_t first, std::size_t count) {
  Shape shape = from.shape();
  shape[0] = static_cast<std::int64_t>(count);
  Tensor result(from.dtype(), shape);
  if (result.bytes() > 0) {
    std::memcpy(result.view().data(), from.view().data() + first * row_bytes(from), count * row_bytes(from));
  }
  return result;
}

Tensor reference_concat(const std::vector<Tensor>& parts) {
  std::size_t rows = 0;
  for (const Tensor& part : parts)
    rows += part.shape().empty() ? 1U : static_cast<std::size_t>(part.shape()[0]);
  Shape shape = parts[0].shape();
  if (shape.empty()) shape.push_back(0);
  shape[0] = static_cast<std::int64_t>(rows);
  Tensor result(parts[0].dtype(), shape);
  std::byte* next = result.view().data();
  for (const Tensor& part : parts) {
    if (part.bytes() > 0) std::memcpy(next, part.view().data(), part.bytes());
    next += part.bytes();
  }
  return result;
}

Tensor reference_exchange(const std::vector<Tensor>& inputs, int rank,
                          const std::vector<std::vector<std::size_t>>& rows) {
  std::vector<Tensor> parts;
  for (std::size_t source = 0; source < inputs.size(); ++source) {
    parts.push_back(reference_rows(inputs[source], sum_before(rows[source], rank),
                                   rows[source][static_cast<std::size_t>(rank)]));
  }
  return reference_concat(parts);
}

std::size_t sum_before(std::span<const std::size_t> counts, int until) {
  return std::accumulate(counts.begin(), counts.begin() + until, std::size_t{0});
}

}  // namespace rondo::test
