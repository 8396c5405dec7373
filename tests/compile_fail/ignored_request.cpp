// An isend whose Request is dropped at once is a send that looks like something else.
#include <vector>

#include "rondo/rondo.hpp"

void misuse(const rondo::Group& group, const std::vector<float>& values) {
#ifdef MISUSE
  group.isend(values, 1);
#else
  rondo::Request request = group.isend(values, 1);
  request.wait();
#endif
}
