#pragma once
/// The groups that a bench compares: the same ranks over several backends.

#include <string>
#include <vector>

#include "bench/options.hpp"
#include "rondo/group.hpp"

namespace rondo::tools::bench {

struct Contender {
  std::string name;
  Group group;
};

/// Who takes part, on this rank.
struct Field {
  Group control;  ///< over which the ranks agree between measurements
  std::vector<Contender> contenders;
};

/// `control` alone where the options name no backends. Else a group of its own for each of them, all of the
/// ranks of `control`, which meet over it. Throws Error as init does, and std::invalid_argument for a backend
/// that cannot be made so.
Field make_field(const Group& control, const BenchOptions& options);

/// One more group of the ranks of `control`, which meet over it, with these settings. Collective. Throws
/// Error as init does.
Group join_over(const Group& control, Config config);

/// "shm", "tcp", "shm#2": what is named again gets a number.
std::vector<std::string> distinct_names(const std::vector<Backend>& backends);

/// The bytes of every rank, by rank. Collective.
std::vector<std::string> exchange_over(const Group& control, const std::string& mine);

}  // namespace rondo::tools::bench
