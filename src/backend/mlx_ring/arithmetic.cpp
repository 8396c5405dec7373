#include "backend/mlx_ring/arithmetic.hpp"

#include <array>
#include <complex>

#include "tensor/reduce.hpp"

namespace rondo::backend::mlx {

namespace {

template <class T>
bool below(const T& a, const T& b) noexcept {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
    return static_cast<float>(a) < static_cast<float>(b);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
  else
    return a < b;
}

template <class T>
Combine extreme(ReduceOp op) {
  const auto with = [](auto replaces) {
    return [replaces](std::byte* local, const std::byte* incoming, std::size_t count) {
      T* mine = reinterpret_cast<T*>(local);
      const T* its = reinterpret_cast<const T*>(incoming);
      for (std::size_t i = 0; i < count; ++i) mine[i] = replaces(mine[i], its[i]) ? its[i] : mine[i];
    };
  };
  if (op == ReduceOp::max) return with([](const T& mine, const T& its) { return below(mine, its); });
  return with([](const T& mine, const T& its) { return below(its, mine); });
}

Combine extreme_of(DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8:
      return extreme<std::uint8_t>(op);
    case DType::int8:
      return extreme<std::int8_t>(op);
    case DType::int16:
      return extreme<std::int16_t>(op);
    case DType::int32:
      return extreme<std::int32_t>(op);
    case DType::int64:
      return extreme<std::int64_t>(op);
    case DType::uint16:
      return extreme<std::uint16_t>(op);
    case DType::uint32:
      return extreme<std::uint32_t>(op);
    case DType::uint64:
      return extreme<std::uint64_t>(op);
    case DType::float16:
      return extreme<float16>(op);
    case DType::bfloat16:
      return extreme<bfloat16>(op);
    case DType::float32:
      return extreme<float>(op);
    case DType::float64:
      return extreme<double>(op);
    case DType::complex64:
      return extreme<std::complex<float>>(op);
    case DType::complex128:
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      break;  // MLX has no such types
  }
  return {};
}

}  // namespace

bool reduces(DType dtype, ReduceOp op) noexcept {
  if (op != ReduceOp::sum && op != ReduceOp::min && op != ReduceOp::max) return false;
  return dtype != DType::complex128 && dtype != DType::float8_e4m3 && dtype != DType::float8_e5m2;
}

Combine combine(DType dtype, ReduceOp op) {
  if (op != ReduceOp::sum) return extreme_of(dtype, op);
  if (dtype == DType::bool_) return extreme<std::uint8_t>(ReduceOp::max);  // bytes are 0 or 1
  const tensor::ReduceKernel add = tensor::reduce_kernel(dtype, ReduceOp::sum);
  return [add](std::byte* local, const std::byte* incoming, std::size_t count) {
    const std::array<const void*, 2> both{local, incoming};
    add(local, both, count, 0);
  };
}

}  // namespace rondo::backend::mlx
