// A temporary vector is gone before it is sent.
#include <vector>

#include "rondo/rondo.hpp"

rondo::Request misuse(const rondo::Group& group, const std::vector<float>& kept) {
#ifdef MISUSE
  return group.isend(std::vector<float>{1, 2, 3}, 1);
#else
  return group.isend(kept, 1);
#endif
}
