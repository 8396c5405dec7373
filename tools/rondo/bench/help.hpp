#pragma once
/// What `rondo bench --help` says.

namespace rondo::tools::bench {

extern const char* const bench_help;

}  // namespace rondo::tools::bench
