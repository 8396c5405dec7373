#pragma once
/// What `rondo run --help` says.

namespace rondo::tools::run {

extern const char* const run_help;

}  // namespace rondo::tools::run
