#pragma once
/// What `rondo op --help` says.

namespace rondo::tools::op {

extern const char* const op_help;

}  // namespace rondo::tools::op
