#pragma once
/// Words that several lanes use.

#include <span>
#include <string>

#include "base/deadline.hpp"
#include "base/problem.hpp"
#include "transport/transport.hpp"

namespace rondo::transport {

/// The cause that ended a group, as a Problem.
base::Problem problem_of(const Transport& transport);
/// "timed out after 100 ms (limit 100 ms) waiting for rank 2".
std::string timed_out(const base::Deadline& deadline, const std::string& waiting_for);
/// "rank 2", "ranks 2, 3 and 5".
std::string list_ranks(std::span<const int> ranks);
/// "12.5 ms".
std::string milliseconds(base::Duration duration);

}  // namespace rondo::transport
