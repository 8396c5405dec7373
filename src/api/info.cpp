#include "rondo/info.hpp"

#include <limits>

#include "collective/tuning.hpp"

namespace rondo {

namespace {

// How the table writes "does not matter".
template <class T>
std::optional<T> unless_any(T value) {
  return value == std::numeric_limits<T>::max() ? std::nullopt : std::optional(value);
}
std::optional<bool> flag(int wanted) { return wanted < 0 ? std::nullopt : std::optional(wanted == 1); }

}  // namespace

std::vector<SelectionRow> selection_table(const Config& config) {
  std::vector<SelectionRow> rows;
  for (const collective::Row& row : collective::table_with(config.tuning)) {
    rows.push_back({std::string(transport::to_string(row.verb)), row.bytes_from, unless_any(row.bytes_to),
                    row.size_from, unless_any(row.size_to), flag(row.arena), flag(row.combines_once),
                    std::string(collective::to_string(row.algorithm))});
  }
  return rows;
}

std::string selection_text(const Config& config) {
  return collective::to_string(collective::table_with(config.tuning));
}

}  // namespace rondo
