// Strings are no elements: their bytes live elsewhere.
#include <string>

#include "rondo/rondo.hpp"

#ifdef MISUSE
using Value = std::string;
#else
using Value = std::int16_t;
#endif

rondo::Tensor misuse(const rondo::Group& group) { return group.recv<Value>({2, 3}, 1); }
