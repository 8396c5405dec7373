#pragma once
/// What `rondo bench` can measure, and the formulas of its columns.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/dtype.hpp"

namespace rondo::tools::bench {

enum class BenchVerb : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  gather,
  scatter,
  barrier,
  sendrecv,   ///< every rank sends to the next and receives from the one before
  latency,    ///< rank 0 and rank 1 play ping-pong; half of the round trip
  bandwidth,  ///< rank 0 sends a window of messages to rank 1, which then answers once
};

struct VerbInfo {
  BenchVerb verb;
  std::string_view name;
  bool parts;         ///< the size is that of n parts, one per rank; else that of one vector
  bool reduces;       ///< has a reduction
  bool rooted;        ///< has a root
  bool out_of_place;  ///< has a form from one memory to another
  bool in_place;      ///< has a form in place
  int least_ranks;    ///< of a group that can do it
};

/// In the order of `all`.
std::span<const VerbInfo> all_verbs() noexcept;
const VerbInfo& info_of(BenchVerb verb) noexcept;

/// What a name on the command line asks for: all_sum, all_max, all_min and sum_scatter bring their reduction.
struct NamedVerb {
  BenchVerb verb;
  std::optional<ReduceOp> op;
};
std::optional<NamedVerb> parse_verb(std::string_view name) noexcept;

/// busbw / algbw for `ranks` ranks: what a link carries per byte of the size, whatever the algorithm.
double bus_factor(BenchVerb verb, int ranks) noexcept;

/// Elements of a call that comes closest to `bytes`, at least one: per part where the size is that of n
/// parts.
std::size_t count_for(BenchVerb verb, std::size_t bytes, DType dtype, int ranks) noexcept;
/// The size column: bytes that `count` stands for.
std::size_t bytes_for(BenchVerb verb, std::size_t count, DType dtype, int ranks) noexcept;

}  // namespace rondo::tools::bench
