#pragma once
/// What each rank starts with.

#include <string>
#include <vector>

#include "run/options.hpp"

namespace rondo::tools::run {

/// What all ranks are told of their job.
struct JobPlace {
  std::string rendezvous;
  std::string launcher;
  int secret_fd = -1;
};

/// The environment of a rank: what this process was given, what was asked for, and the rank's place. Of
/// several values for a name the last of these counts; each name is there once.
std::vector<std::string> environment_of(int rank, const RunOptions& options, const JobPlace& place,
                                        const std::vector<std::string>& given);

}  // namespace rondo::tools::run
