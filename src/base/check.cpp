#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace rondo::base {

void broken_invariant(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "rondo: broken invariant: %s (%s:%d); this is a bug in rondo\n", expression, file,
               line);
  std::abort();
}

}  // namespace rondo::base
