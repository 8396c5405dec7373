#pragma once
/// Inputs whose results are exact in every element type, so that a result is compared bit by bit.
/// Nothing is stored: every value follows from the rank and the position.

#include <cstddef>

#include "rondo/view.hpp"

namespace rondo::tools::bench {

/// A reduction over so many ranks.
struct Reduction {
  ReduceOp op;
  int ranks;
};

/// What `rank` puts into a reduction at the positions from `first` on.
void fill_contribution(const View& out, Reduction reduction, int rank, std::size_t first);
/// What the reduction gives there.
void fill_reduced(const View& out, Reduction reduction, std::size_t first);
/// What `rank` puts into a call that only moves elements: any bits.
void fill_moved(const View& out, int rank, std::size_t first);
/// Bytes that are no result, but by chance in the narrowest types: what a call should have written and did
/// not is counted as wrong.
void fill_poison(const View& out);

/// How many elements differ in any bit. Both have the same number of elements.
std::size_t count_wrong(const ConstView& got, const ConstView& expected);

}  // namespace rondo::tools::bench
