/// The reduction of all vectors, on the root.

#include <vector>

#include "collective/partition.hpp"
#include "collective/phases.hpp"
#include "collective/pipeline.hpp"
#include "collective/scratch.hpp"
#include "collective/tree.hpp"

namespace rondo::collective {

// Binomial tree (Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19, 2005), pipelined.
// Every rank receives partial results from its children, combines its own vector with them from the smallest
// subtree to the largest, and sends the result to its parent, chunk by chunk. ceil(log2 n) steps for the
// first chunk; B bytes out per rank, at most B ceil(log2 n) in (the root's). Subtrees hold consecutive ranks,
// counted from the root on, so elements are combined in the order root, root + 1, ..., root - 1.
void reduce_binomial(Channel& channel, ConstBytes in, Bytes out, int root, const Reduction& reduction,
                     std::size_t chunk_bytes) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const Range whole{0, in.size() / element};
  const std::size_t chunk =
      std::min(chunk_elements(chunk_bytes, element), std::max<std::size_t>(whole.size, 1));
  const std::size_t chunks = chunk_count(whole.size, chunk);
  const int child_count = tree::children(rank, root, n);
  const auto children = static_cast<std::size_t>(child_count);

  std::vector<Link> links;
  for (int i = 0; i < child_count; ++i) links.push_back({-1, 0, tree::child(rank, root, n, i), chunks});
  if (rank != root) links.push_back({tree::parent(rank, root, n), chunks, -1, 0});

  // Two buffers per child; three for partial results, because send i is over only when use(i + 3) begins.
  const Scratch landing(2 * children, chunk * element);
  const Scratch partial(rank != root && children > 0 ? 3 : 0, chunk * element);
  const auto mine = [&](std::size_t i) { return cut(in, chunk_of(whole, chunk, i), element); };
  const auto theirs = [&](std::size_t link, std::size_t i) {
    return landing[i % 2 * children + link].first(mine(i).size());
  };
  const auto result = [&](std::size_t i) {
    return rank == root ? cut(out, chunk_of(whole, chunk, i), element) : partial[i % 3].first(mine(i).size());
  };
  Operands operands(children + 1);
  pipeline(
      channel, Flow{links, children > 0 ? Sends::late : Sends::early},
      [&](std::size_t, std::size_t i) -> ConstBytes {
        return children > 0 ? ConstBytes(result(i)) : mine(i);
      },
      theirs,
      [&](std::size_t i) {
        operands[0] = mine(i).data();
        for (std::size_t l = 0; l < children; ++l) operands[l + 1] = theirs(l, i).data();
        combine(reduction, result(i), operands.all(), rank == root ? reduction.divisor : 0);
      });
}

// Direct: a direct reduce-scatter (reduce_scatter.cpp), then a linear gather to the root. B (n - 1) / n bytes
// out and in per rank for the first, B / n out per rank and B (n - 1) / n into the root for the second;
// elements are combined in one kernel call each, in rank order. To bound scratch, the vector is taken in
// slabs of a few chunks per rank.
void reduce_direct(Channel& channel, ConstBytes in, Bytes out, int root, const Reduction& reduction,
                   std::size_t chunk_bytes) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const Range whole{0, in.size() / element};
  const std::size_t slab = chunk_elements(chunk_bytes, element) * static_cast<std::size_t>(n);
  const std::size_t slabs = chunk_count(whole.size, slab);
  const Scratch scratch(rank == root ? 0 : 1, part_of(std::min(slab, whole.size), n, 0).size * element);
  for (std::size_t k = 0; k < slabs; ++k) {
    const Segments segments(chunk_of(whole, slab, k), n);
    std::vector<std::size_t> sizes;
    for (int r = 0; r < n; ++r) sizes.push_back(segments[r].size * element);
    const std::size_t own = sizes[static_cast<std::size_t>(rank)];
    // On the root `out` may be `in`: it is written in this slab alone, and that has been sent by then.
    const Bytes part = rank == root ? cut(out, segments[rank], element) : scratch[0].first(own);
    direct_reduce(channel, in, part, segments, reduction, chunk_bytes);
    gather_linear(channel, part, rank == root ? cut(out, chunk_of(whole, slab, k), element) : Bytes{}, sizes,
                  root);
  }
}

}  // namespace rondo::collective
