#pragma once
/// Random programs: a seed makes a list of collectives and messages, over the whole group and groups made of
/// it; every rank runs the list and compares with the serial reference.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::test {

/// What one step does.
enum class Deed {
  all_reduce,
  all_reduce_in_place,
  reduce,
  reduce_scatter,
  reduce_scatter_v,
  all_gather,
  all_gather_v,
  broadcast,
  gather,
  scatter,
  all_to_all,
  all_to_all_v,
  barrier,
  ring_shift,      ///< isend and recv
  exchange_batch,  ///< every pair, both ways, in one batch of random order
  fan_in,          ///< all to one, with any_source
  fan_out,         ///< one to all, probed first
  split,           ///< another group for the next steps
};
inline constexpr int deed_count = 18;
std::string to_string(Deed deed);

struct Step {
  Deed deed;
  DType dtype;
  ReduceOp op;
  std::int64_t rows;
  std::int64_t columns;
  int where;             ///< which of the groups made so far
  std::uint64_t random;  ///< root, salt, counts
};

using Program = std::vector<Step>;

/// The program of a seed; the same on every rank.
Program make_program(std::uint64_t seed, int steps);
std::string to_string(const Program& program);

/// Runs it on this rank. `note` is told of every step when it begins and ends.
void run_program(const Program& program, const Group& whole,
                 const std::function<void(int step, bool ends)>& note);

}  // namespace rondo::test
