#pragma once
/// The kernels behind reduce_kernel, one source file for each class. Every function answers for the vector
/// target that this machine's processor picks, and gives nullptr for what is not its own.

#include "tensor/reduce.hpp"

namespace rondo::tensor {

/// sum and product of the integers.
ReduceKernel integer_kernel(DType dtype, ReduceOp op) noexcept;
/// min and max of the integers.
ReduceKernel order_kernel(DType dtype, ReduceOp op) noexcept;
/// Logical reductions of everything that has them, bit reductions, and all of bool.
ReduceKernel logic_kernel(DType dtype, ReduceOp op) noexcept;
/// sum, product, min and max of float32, float64 and the complex types.
ReduceKernel float_kernel(DType dtype, ReduceOp op) noexcept;
/// sum, product, min and max of float16 and bfloat16.
ReduceKernel half_kernel(DType dtype, ReduceOp op) noexcept;

}  // namespace rondo::tensor
