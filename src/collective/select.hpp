#pragma once
/// Which algorithm runs: a table of facts that are equal on all ranks. First matching row wins.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "transport/header.hpp"

namespace rondo::collective {

enum class Algorithm : std::uint8_t {
  ring,
  recursive_doubling,
  one_shot,
  direct,
  binomial,
  linear,
  pairwise,
  dissemination,
  flat,
};
std::string_view to_string(Algorithm algorithm) noexcept;

/// What the choice may depend on. Nothing that one rank alone knows.
struct Facts {
  transport::Verb verb;
  std::size_t
      bytes;   ///< of the whole vector (all_reduce, reduce, broadcast, reduce_scatter) or result (all_gather)
  int size;    ///< ranks
  bool arena;  ///< the ranks share memory
  bool combines_once;  ///< tensor::combines_once
};

struct Row {
  transport::Verb verb;
  std::size_t bytes_to;    ///< up to and including
  int size_from, size_to;  ///< inclusive
  int arena;               ///< 1: only with, 0: only without, -1: either
  int combines_once;       ///< likewise
  Algorithm algorithm;
  std::size_t bytes_from = 0;
};

/// The shipped table.
std::span<const Row> default_table() noexcept;
/// The first row that fits; a broken invariant when none does. `table` must cover every verb of a call.
Algorithm select(std::span<const Row> table, const Facts& facts);
/// The table as text, one row a line, for `rondo info` and documentation.
std::string to_string(std::span<const Row> table);

}  // namespace rondo::collective
