#include "tensor/reduce.hpp"

#include "base/check.hpp"
#include "tensor/reduce_parts.hpp"

namespace rondo::tensor {

namespace {

bool is_half(DType dtype) noexcept { return dtype == DType::float16 || dtype == DType::bfloat16; }

/// sum and product, min and max: the class of the type decides.
ReduceKernel numeric_kernel(DType dtype, ReduceOp op, ReduceKernel (*of_integers)(DType, ReduceOp) noexcept) {
  switch (dtype) {
    case DType::bool_:
      return logic_kernel(dtype, op);
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return of_integers(dtype, op);
    case DType::float16:
    case DType::bfloat16:
      return half_kernel(dtype, op);
    case DType::float32:
    case DType::float64:
    case DType::complex64:
    case DType::complex128:
      return float_kernel(dtype, op);
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      break;
  }
  return nullptr;
}

}  // namespace

ReduceKernel reduce_kernel(DType dtype, ReduceOp op) noexcept {
  if (!supported(op, dtype)) return nullptr;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean:
      return numeric_kernel(dtype, ReduceOp::sum, integer_kernel);
    case ReduceOp::product:
      return numeric_kernel(dtype, op, integer_kernel);
    case ReduceOp::min:
    case ReduceOp::max:
      return numeric_kernel(dtype, op, order_kernel);
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
    case ReduceOp::logical_and:
    case ReduceOp::logical_or:
      break;
  }
  return logic_kernel(dtype, op);
}

void divide(DType dtype, void* out, const void* in, std::size_t count, std::size_t divisor) noexcept {
  const ReduceKernel mean = reduce_kernel(dtype, ReduceOp::mean);
  RONDO_INVARIANT(mean != nullptr && divisor > 0);
  mean(out, {&in, 1}, count, divisor);
}

bool combines_once(DType dtype, ReduceOp op) noexcept {
  return is_half(dtype) && (op == ReduceOp::sum || op == ReduceOp::product || op == ReduceOp::mean);
}

}  // namespace rondo::tensor
