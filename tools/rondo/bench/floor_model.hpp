#pragma once
/// The floor of a collective: the least time that this machine's own floors allow it. docs/bench.md has the
/// formulas.

#include <optional>

#include "bench/floor.hpp"
#include "bench/verb.hpp"
#include "rondo/config.hpp"

namespace rondo::tools::bench {

struct FloorCall {
  BenchVerb verb;
  std::size_t bytes;  ///< the size column
  int ranks;
  bool in_place = false;
  bool fenced =
      false;  ///< every call starts after a barrier; else calls may overlap where the verb lets them
};

/// Seconds; nothing where there is no floor: one rank, a backend without a model, calls that overlap and are
/// too small to count, a machine with one core.
std::optional<double> floor_of(const Floors& floors, Backend backend, const FloorCall& call);

}  // namespace rondo::tools::bench
