#pragma once
/// What `rondo op --help` says.

namespace rondo::tools {

extern const char* const op_help;

}  // namespace rondo::tools
