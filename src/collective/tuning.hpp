#pragma once
/// Tables of algorithms that were measured: what RONDO_TUNING names, and `rondo bench --tune` writes.
///
/// A file is JSON: {"rondo tuning": 1, "rows": [...]}; other members (the machine, the date) are for people.
/// A row has "collective", "algorithm", and may have "from" and "up to" (bytes, inclusive), "ranks" ([from,
/// to]), "arena" and "combined once" (true or false; absent: either). Its rows stand before those of the
/// shipped table, so a file need not cover everything; the first row that fits wins.

#include <string>
#include <string_view>
#include <vector>

#include "collective/select.hpp"

namespace rondo::collective {

/// The rows of a tuning. `name` is what errors call it. Throws Error(invalid_argument) that names the row,
/// the value and what was expected: also for an algorithm that the collective does not have, and one that a
/// row would give to calls it cannot serve (flat without an arena; ring for types whose elements must be
/// combined once).
std::vector<Row> parse_tuning(std::string_view text, const std::string& name);

/// Shipped rows behind those of the file at `path` (none where it is empty). Throws Error(invalid_argument),
/// also for a file that cannot be read.
std::vector<Row> table_with(const std::string& path);

}  // namespace rondo::collective
