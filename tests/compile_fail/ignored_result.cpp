// all_sum of a Tensor returns the sum and leaves its argument as it was.
#include "rondo/rondo.hpp"

rondo::Tensor misuse(const rondo::Group& group, rondo::Tensor gradient) {
#ifdef MISUSE
  group.all_sum(gradient);
  return gradient;
#else
  return group.all_sum(gradient);
#endif
}
