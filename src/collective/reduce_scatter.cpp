/// The reduction of all vectors, one segment per rank.

#include <vector>

#include "collective/partition.hpp"
#include "collective/phases.hpp"
#include "collective/pipeline.hpp"
#include "collective/ring_phase.hpp"
#include "collective/scratch.hpp"

namespace rondo::collective {

namespace {

/// Chunks per segment that the ring holds at a time.
constexpr std::size_t slab_chunks = 4;

/// Chunk of the direct algorithm. Two chunks per peer are buffered, so it shrinks with the number of ranks,
/// down to what is still worth a frame.
constexpr std::size_t direct_chunk_bytes(std::size_t chunk_bytes, int n) noexcept {
  constexpr std::size_t least = 4096;
  return std::max(chunk_bytes / static_cast<std::size_t>(n), std::min(chunk_bytes, least));
}

}  // namespace

// Ring (the first phase of Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009). Segment r, of
// counts[r] elements, is what rank r ends up with. n - 1 steps: in each, a rank sends the segment it combined
// last and receives the one before it. With a vector of B bytes and equal counts, B (n - 1) / n bytes out, in
// and reduced per rank.
//
// `in` is not written and `out` holds one segment, so partial results live in scratch until they have been
// sent. To bound it, the vector is taken in slabs of a few chunks of every segment, each a ring of its own. A
// chunk stays in the buffer it was received into: receive i is sent as send i + c, c at most slab_chunks,
// which is over when target(i + c
// + 3) is asked for.
void reduce_scatter_ring(Channel& channel, ConstBytes in, Bytes out, Counts counts,
                         const Reduction& reduction, std::size_t chunk_bytes) {
  const std::size_t element = reduction.element_bytes;
  const Segments segments(counts);
  const std::size_t chunk =
      std::min(chunk_elements(chunk_bytes, element), std::max<std::size_t>(segments.longest(), 1));
  const std::size_t slab = slab_chunks * chunk;
  const std::size_t slabs = chunk_count(segments.longest(), slab);
  const std::size_t begin = segments[channel.rank()].begin;
  for (std::size_t k = 0; k < slabs; ++k) {
    const Segments part = segments.slab(slab, k);
    const std::size_t held = chunk_count(part.longest(), chunk);
    ring::reduce_phase(channel, in, part, reduction, chunk, held + 3,
                       [&](Range piece, Bytes buffer, bool last) {
                         return last ? cut(out, {piece.begin - begin, piece.size}, element) : buffer;
                       });
  }
}

// Direct: every rank sends segment r of its vector to rank r, chunk by chunk, and combines chunk after chunk
// of its own segment from all n contributions, in rank order, in one kernel call each. One step over a full
// mesh; with a vector of B bytes and equal segments, B (n - 1) / n bytes out, in and reduced per rank.
// (Pairwise exchange in Thakur, Rabenseifner and Gropp 2005, with all steps at once.)
void direct_reduce(Channel& channel, ConstBytes in, Bytes out, const Segments& segments,
                   const Reduction& reduction, std::size_t chunk_bytes) {
  const int rank = channel.rank();
  const int n = channel.size();
  const auto peers = static_cast<std::size_t>(n - 1);
  const std::size_t element = reduction.element_bytes;
  const Range own = segments[rank];
  const std::size_t chunk = std::min(chunk_elements(direct_chunk_bytes(chunk_bytes, n), element),
                                     std::max<std::size_t>(segments.longest(), 1));
  const Scratch scratch(2 * peers, std::min(chunk, own.size) * element);

  std::vector<Link> links;
  for (int step = 1; step < n; ++step) {
    const int to = ring::modulo(rank + step, n);
    const int from = ring::modulo(rank - step, n);
    links.push_back({to, chunk_count(segments[to].size, chunk), from, chunk_count(own.size, chunk)});
  }
  const auto landing = [&](std::size_t link, std::size_t i) {
    return scratch[i % 2 * peers + link].first(chunk_of(own, chunk, i).size * element);
  };
  Operands operands(static_cast<std::size_t>(n));
  pipeline(
      channel, Flow{links, Sends::early},
      [&](std::size_t link, std::size_t i) {
        return cut(in, chunk_of(segments[links[link].to], chunk, i), element);
      },
      landing,
      [&](std::size_t i) {
        const Range piece = chunk_of(own, chunk, i);
        operands[rank] = cut(in, piece, element).data();
        for (std::size_t l = 0; l < peers; ++l) operands[links[l].from] = landing(l, i).data();
        combine(reduction, cut(out, {piece.begin - own.begin, piece.size}, element), operands.all(),
                reduction.divisor);
      });
}

// Direct, as above; segment r has counts[r] elements.
void reduce_scatter_direct(Channel& channel, ConstBytes in, Bytes out, Counts counts,
                           const Reduction& reduction, std::size_t chunk_bytes) {
  direct_reduce(channel, in, out, Segments(counts), reduction, chunk_bytes);
}

}  // namespace rondo::collective
