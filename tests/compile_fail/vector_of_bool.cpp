// std::vector<bool> holds bits, not bools.
#include <array>
#include <vector>

#include "rondo/rondo.hpp"

#ifdef MISUSE
using Flags = std::vector<bool>;
#else
using Flags = std::array<bool, 8>;
#endif

void misuse(const rondo::Group& group, Flags& flags) { group.broadcast(flags, 0); }
