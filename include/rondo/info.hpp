#pragma once
/// What rondo says of itself, for programs that report how they run. `rondo info` prints it.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rondo/config.hpp"
#include "rondo/export.hpp"

namespace RONDO_EXPORT rondo {

/// A row of the table that selects algorithms. The first row that fits a call decides, so a row counts only
/// where none before it fits. A fact that is missing does not matter to the row.
struct SelectionRow {
  std::string collective;
  std::size_t least_bytes = 0;            ///< inclusive, like the next
  std::optional<std::size_t> most_bytes;  ///< of the vector, or of the gathered result; inclusive
  int least_ranks = 0;
  std::optional<int> most_ranks;      ///< inclusive
  std::optional<bool> shared_memory;  ///< whether the group's ranks share memory
  std::optional<bool> combined_once;  ///< sum, product and mean of float16 and bfloat16
  std::string algorithm;
};

/// The table, in the order in which it is searched: the rows of the file that `config.tuning` names, if it
/// names one, before the shipped ones. Throws Error(invalid_argument) for a file that cannot be read.
std::vector<SelectionRow> selection_table(const Config& config = {});
/// The same as text, one row a line, below a line of titles.
std::string selection_text(const Config& config = {});

}  // namespace rondo
