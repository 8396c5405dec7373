#pragma once
/// The subcommand `op`.

#include "op/options.hpp"

namespace rondo::tools::op {

/// Runs what was asked for; says what went wrong on standard error. Returns the exit status.
int run_op(const OpWords& words);

}  // namespace rondo::tools::op
