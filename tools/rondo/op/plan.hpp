#pragma once
/// What every rank brings to an operation, and what follows from that: shapes of results, and who moves how
/// much. Every rank computes it from the same facts, so all come to the same end, an error included.

#include <optional>
#include <string>
#include <vector>

#include "op/npy.hpp"
#include "op/options.hpp"
#include "rondo/group.hpp"

namespace rondo::tools::op {

/// One rank's contribution, as the others are told.
struct Brought {
  bool file = false;  ///< whether it has read one
  DType dtype = DType::uint8;
  Shape shape;
};

/// Who has what part, in elements.
struct Plan {
  DType dtype = DType::uint8;
  Shape shape;              ///< of this rank's result
  Counts in;                ///< elements of this rank's input, part by part; empty: it brings nothing
  Counts out;               ///< elements of its result, part by part; empty: it gets none
  Counts shares;            ///< elements of every rank's part, where all ranks are told the same ones
  std::size_t longest = 0;  ///< the longest part of any rank, of input or result
};

/// Whether this rank reads a file.
bool brings_input(const OpOptions& options, int rank) noexcept;
/// Whether this rank gets a result.
bool gets_result(const OpOptions& options, int rank) noexcept;
/// Whether this rank writes one.
bool writes_output(const OpOptions& options, int rank) noexcept;

/// Roots, counts and names that do not fit a group of this size are a UsageError.
void check_size(const OpOptions& options, int size);

/// Collective: tells all ranks what this one has read.
std::vector<Brought> meet(const Group& group, const std::optional<NpyHeader>& header);

/// Throws std::runtime_error that names the files when what was brought does not go together.
Plan make_plan(const OpOptions& options, const std::vector<Brought>& brought, int rank);

}  // namespace rondo::tools::op
