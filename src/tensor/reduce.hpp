#pragma once
/// The table of reductions: [dtype][op] -> kernel.

#include <cstddef>
#include <span>

#include "rondo/dtype.hpp"

namespace rondo::tensor {

/// out[i] = in[0][i] op in[1][i] op ... op in[k-1][i] for i < count, combined from left to right, for any k
/// >= 1; then, when `divisor` > 0 (mean only), divided by it. float16 and bfloat16 accumulate sum, product
/// and mean in float32 and round once, at the end. `out` may be the same memory as any of the inputs, and
/// must not overlap one in any other way. Pointers need the alignment of the element type only. Bytes are
/// equal on every vector target and at every position.
using ReduceKernel = void (*)(void* out, std::span<const void* const> in, std::size_t count,
                              std::size_t divisor);

/// The kernel of `op` on `dtype`; nullptr when rondo::supported(op, dtype) is false. `mean` gives the kernel
/// of sum, to be called with divisor = number of ranks by whoever combines the last contribution.
ReduceKernel reduce_kernel(DType dtype, ReduceOp op) noexcept;

/// out[i] = in[i] / divisor, for the types that have a mean; in may be out. For float16 and bfloat16 this
/// rounds a second time: algorithms for those use the divisor of ReduceKernel instead.
void divide(DType dtype, void* out, const void* in, std::size_t count, std::size_t divisor) noexcept;

/// True for float16 and bfloat16 under sum, product and mean: every element must be combined in one place,
/// from all ranks' contributions at once.
bool combines_once(DType dtype, ReduceOp op) noexcept;

}  // namespace rondo::tensor
