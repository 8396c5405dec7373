#pragma once
/// MLX's own rules for combining two elements, which are not all rondo's.

#include "backend/mlx_ring/wire.hpp"
#include "rondo/dtype.hpp"

namespace rondo::backend::mlx {

/// True for the types that MLX has and the operations that its rings know: sum, min and max.
bool reduces(DType dtype, ReduceOp op) noexcept;

/// local = local op incoming. Sums of bool are `or`, half types round at every step, complex numbers are
/// ordered by real part, then imaginary part, and max and min keep `local` where either is NaN. Only where
/// reduces().
Combine combine(DType dtype, ReduceOp op);

}  // namespace rondo::backend::mlx
