#pragma once
/// What collectives must give, computed plainly over all ranks' inputs. Shares no code with the library.

#include <span>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::test {

/// Element-wise reduction of all ranks' tensors.
Tensor reference_reduce(const std::vector<Tensor>& inputs, ReduceOp op);

/// `count` rows of axis 0 from row `first` on.
Tensor reference_rows(const Tensor& from, std::size_t first, std::size_t count);

/// All parts one after the other along axis 0; scalars make a vector.
Tensor reference_concat(const std::vector<Tensor>& parts);

/// What rank `rank` gets of an exchange: rows_of(s, d) rows go from s to d.
Tensor reference_exchange(const std::vector<Tensor>& inputs, int rank,
                          const std::vector<std::vector<std::size_t>>& rows);

/// Sum of the first `until` counts.
std::size_t sum_before(std::span<const std::size_t> counts, int until);

}  // namespace rondo::test
