// Two Requests for one transfer would both own the buffer.
#include <utility>

#include "rondo/rondo.hpp"

#ifdef MISUSE
rondo::Request misuse(rondo::Request& request) { return request; }
#else
rondo::Request misuse(rondo::Request& request) { return std::move(request); }
#endif
