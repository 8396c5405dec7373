// What is received into a temporary nobody can read.
#include <vector>

#include "rondo/rondo.hpp"

void misuse(const rondo::Group& group, std::vector<float>& kept) {
#ifdef MISUSE
  group.recv_into(std::vector<float>(3), 1);
#else
  group.recv_into(kept, 1);
#endif
}
