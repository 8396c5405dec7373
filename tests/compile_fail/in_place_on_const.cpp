// An in-place reduction writes.
#include <vector>

#include "rondo/rondo.hpp"

#ifdef MISUSE
using Values = const std::vector<float>;
#else
using Values = std::vector<float>;
#endif

void misuse(const rondo::Group& group, Values& values) { group.all_sum(values); }
