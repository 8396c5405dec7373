#pragma once
/// Every algorithm over a Channel, by name. Memory is contiguous; counts are elements; `n` is the number of
/// ranks. All are blocking, straight-line, for any n >= 2, any count (0 included), and let base::Problem
/// pass.
///
/// Where `in` may be `out` (or this rank's part of it) no copy is made. Every element is combined in one
/// fixed operand order and the finished value is copied, so every rank gets the same bytes, and so does a
/// rerun. The order is that of ranks, 0 first, but for two: ring starts an element of segment s at rank s + 1
/// and walks up to rank s, modulo n; reduce_binomial starts at the root. Only one_shot, direct and flat
/// combine an element in one kernel call, as tensor::combines_once asks for.
///
/// The flat ones need Channel::has_arena() and call meet() exactly once, first; the others never call it.
///
/// `chunk_bytes` bounds one frame where chunks overlap with the work on them; the same on all ranks.

#include <cstddef>
#include <span>

#include "rondo/dtype.hpp"
#include "tensor/reduce.hpp"
#include "transport/channel.hpp"

namespace rondo::collective {

using transport::Channel;
using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;
using Counts = std::span<const std::size_t>;  ///< elements (or bytes, where there is no type) per rank

/// What to do with elements: the kernel, the size, and the divisor of a mean (0: none).
struct Reduction {
  tensor::ReduceKernel kernel;
  DType dtype;
  std::size_t element_bytes;
  std::size_t divisor;
};

/// Large enough that the cost of a frame is small beside its transfer, small enough that several stay in
/// cache.
inline constexpr std::size_t default_chunk_bytes = std::size_t{256} << 10;

// in, out: the whole vector; in may be out.
void all_reduce_ring(Channel&, ConstBytes in, Bytes out, const Reduction&,
                     std::size_t chunk_bytes = default_chunk_bytes);
void all_reduce_recursive_doubling(Channel&, ConstBytes in, Bytes out, const Reduction&,
                                   std::size_t chunk_bytes = default_chunk_bytes);
void all_reduce_one_shot(Channel&, ConstBytes in, Bytes out, const Reduction&);
void all_reduce_direct(Channel&, ConstBytes in, Bytes out, const Reduction&,
                       std::size_t chunk_bytes = default_chunk_bytes);
void all_reduce_flat(Channel&, ConstBytes in, Bytes out, const Reduction&);

// in: the whole vector; out: counts[rank] elements; in is not written.
void reduce_scatter_ring(Channel&, ConstBytes in, Bytes out, Counts counts, const Reduction&,
                         std::size_t chunk_bytes = default_chunk_bytes);
void reduce_scatter_direct(Channel&, ConstBytes in, Bytes out, Counts counts, const Reduction&,
                           std::size_t chunk_bytes = default_chunk_bytes);
void reduce_scatter_flat(Channel&, ConstBytes in, Bytes out, Counts counts, const Reduction&);

// in: sizes[rank] bytes; out: sum(sizes) bytes; in may be this rank's part of out.
void all_gather_ring(Channel&, ConstBytes in, Bytes out, Counts sizes,
                     std::size_t chunk_bytes = default_chunk_bytes);
void all_gather_direct(Channel&, ConstBytes in, Bytes out, Counts sizes);
void all_gather_flat(Channel&, ConstBytes in, Bytes out, Counts sizes);

void broadcast_binomial(Channel&, Bytes data, int root, std::size_t chunk_bytes = default_chunk_bytes);
void broadcast_flat(Channel&, Bytes data, int root);

// out: on the root only; in may be out there.
void reduce_binomial(Channel&, ConstBytes in, Bytes out, int root, const Reduction&,
                     std::size_t chunk_bytes = default_chunk_bytes);
void reduce_direct(Channel&, ConstBytes in, Bytes out, int root, const Reduction&,
                   std::size_t chunk_bytes = default_chunk_bytes);  ///< combines once
void reduce_flat(Channel&, ConstBytes in, Bytes out, int root, const Reduction&);

// The root's side: sum(sizes) bytes in rank order; the part of the root itself may be in place.
void gather_linear(Channel&, ConstBytes in, Bytes out, Counts sizes, int root);
void scatter_linear(Channel&, ConstBytes in, Bytes out, Counts sizes, int root);

// Equal parts of in.size() (gather) or out.size() (scatter) bytes; the rest as above.
void gather_flat(Channel&, ConstBytes in, Bytes out, int root);
void scatter_flat(Channel&, ConstBytes in, Bytes out, int root);

// in: sum(send) bytes in destination order; out: sum(recv) bytes in source order; in is not out.
void all_to_all_pairwise(Channel&, ConstBytes in, Bytes out, Counts send, Counts recv);
void all_to_all_flat(Channel&, ConstBytes in, Bytes out, std::size_t part_bytes);  ///< every part this long

void barrier_dissemination(Channel&);
void barrier_flat(Channel&);

}  // namespace rondo::collective
