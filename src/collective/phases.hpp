#pragma once
/// Halves of algorithms that several share.

#include "collective/algorithms.hpp"
#include "collective/partition.hpp"

namespace rondo::collective {

/// Direct reduce-scatter: `out` becomes this rank's segment of the reduction (all_reduce.cpp and others say
/// what the segments are). `out` may be this rank's segment of `in`.
void direct_reduce(Channel&, ConstBytes in, Bytes out, const Segments& segments, const Reduction&,
                   std::size_t chunk_bytes);

/// All-gather in place: `data` holds this rank's segment and becomes all of them. Ranges are elements of
/// `element_bytes` bytes.
void ring_gather(Channel&, Bytes data, const Segments& segments, std::size_t element_bytes,
                 std::size_t chunk_bytes);
void direct_gather(Channel&, Bytes data, const Segments& segments, std::size_t element_bytes);

}  // namespace rondo::collective
