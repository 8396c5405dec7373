#pragma once
/// What `rondo run --help` says.

namespace rondo::tools {

extern const char* const run_help;

}  // namespace rondo::tools
