// long double is no element type.
#include "rondo/rondo.hpp"

#ifdef MISUSE
using Value = long double;
#else
using Value = double;
#endif

void misuse(const rondo::Group& group, std::span<Value> values) { group.send(values, 1); }
