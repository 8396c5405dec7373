/// The reduction of all vectors, on every rank.

#include "collective/partition.hpp"
#include "collective/phases.hpp"
#include "collective/pipeline.hpp"
#include "collective/ring_phase.hpp"
#include "collective/scratch.hpp"
#include "collective/tree.hpp"

namespace rondo::collective {

// Ring (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009). The vector of B bytes is cut into n
// near-equal segments, a segment into chunks. n - 1 steps of reduce-scatter: in each, a rank sends the
// segment it combined last and receives the one before it; after them rank r holds segment r finished (and
// divided). n - 1 steps of all-gather pass the finished segments on. 2 (n - 1) steps, 2 B (n - 1) / n bytes
// out and in per rank, B (n - 1) / n bytes reduced.
//
// The phases are kept apart: the second one receives into memory from which the first one sends.
void all_reduce_ring(Channel& channel, ConstBytes in, Bytes out, const Reduction& reduction,
                     std::size_t chunk_bytes) {
  const std::size_t element = reduction.element_bytes;
  const Segments segments({0, in.size() / element}, channel.size());
  const std::size_t chunk =
      std::min(chunk_elements(chunk_bytes, element), std::max<std::size_t>(segments.longest(), 1));
  ring::reduce_phase(channel, in, segments, reduction, chunk, 2,
                     [&](Range piece, Bytes, bool) { return cut(out, piece, element); });
  ring_gather(channel, out, segments, element, chunk_bytes);
}

namespace {

/// Both partners send their vector and combine it with the other's, lower rank first, so both compute the
/// same. Chunk by chunk: what was sent is overwritten only when it has left.
void exchange(Channel& channel, Bytes data, int partner, const Reduction& reduction, std::size_t chunk,
              std::size_t divisor, const Scratch& scratch) {
  const std::size_t element = reduction.element_bytes;
  const Range whole{0, data.size() / element};
  const std::size_t chunks = chunk_count(whole.size, chunk);
  const auto mine = [&](std::size_t i) { return cut(data, chunk_of(whole, chunk, i), element); };
  const auto theirs = [&](std::size_t i) { return scratch[i % 2].first(mine(i).size()); };
  const Link links[] = {{partner, chunks, partner, chunks}};
  pipeline(
      channel, Flow{links, Sends::early, true},
      [&](std::size_t, std::size_t i) -> ConstBytes { return mine(i); },
      [&](std::size_t, std::size_t i) { return theirs(i); },
      [&](std::size_t i) {
        const bool lower = channel.rank() < partner;
        const void* const operands[] = {lower ? mine(i).data() : theirs(i).data(),
                                        lower ? theirs(i).data() : mine(i).data()};
        combine(reduction, mine(i), operands, divisor);
      });
}

/// Sends the vector to `to` (or not: -1) or receives it from `from`, chunk by chunk into `target`, then
/// `use`.
template <class Target, class Use>
void hand_over(Channel& channel, ConstBytes data, int to, int from, const Reduction& reduction,
               std::size_t chunk, const Target& target, const Use& use) {
  const std::size_t element = reduction.element_bytes;
  const Range whole{0, data.size() / element};
  const std::size_t chunks = chunk_count(whole.size, chunk);
  const Link links[] = {{to, to >= 0 ? chunks : 0, from, from >= 0 ? chunks : 0}};
  pipeline(
      channel, Flow{links, Sends::early},
      [&](std::size_t, std::size_t i) { return cut(data, chunk_of(whole, chunk, i), element); },
      [&](std::size_t, std::size_t i) { return target(i); }, use);
}

}  // namespace

// Recursive doubling (Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19, 2005). With n'
// the largest power of two up to n: n - n' odd ranks hand their vector to the even rank before them and stand
// aside; in log2 n' steps every other rank exchanges its whole vector of B bytes with the one whose place
// differs in one bit; the result goes back to those aside. B log2 n' bytes out, in and reduced per rank, B
// more for folding. The ranks of a place are consecutive at every step, so elements are combined in rank
// order.
void all_reduce_recursive_doubling(Channel& channel, ConstBytes in, Bytes out, const Reduction& reduction,
                                   std::size_t chunk_bytes) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const Range whole{0, in.size() / element};
  const std::size_t chunk =
      std::min(chunk_elements(chunk_bytes, element), std::max<std::size_t>(whole.size, 1));
  const Scratch scratch(2, chunk * element);
  const auto mine = [&](std::size_t i) { return cut(out, chunk_of(whole, chunk, i), element); };
  const auto nothing = [](std::size_t) {};

  const int pair = doubling::pair(rank, n);
  if (doubling::aside(rank, n)) {
    hand_over(channel, in, pair, -1, reduction, chunk, mine, nothing);
    hand_over(channel, out, -1, pair, reduction, chunk, mine, nothing);
    return;
  }
  copy(in, out);
  if (pair >= 0) {
    const auto theirs = [&](std::size_t i) { return scratch[i % 2].first(mine(i).size()); };
    hand_over(channel, in, -1, pair, reduction, chunk, theirs, [&](std::size_t i) {
      const void* const operands[] = {mine(i).data(), theirs(i).data()};
      combine(reduction, mine(i), operands, 0);
    });
  }
  const int rounds = tree::ceil_log2(doubling::core(n));
  for (int round = 0; round < rounds; ++round) {
    const bool last = round + 1 == rounds;
    exchange(channel, out, doubling::partner(rank, round, n), reduction, chunk, last ? reduction.divisor : 0,
             scratch);
  }
  if (pair >= 0) hand_over(channel, out, pair, -1, reduction, chunk, mine, nothing);
}

// One-shot. One step: every rank sends its vector of B bytes to every other and combines all n of them, in
// rank order, in one kernel call. B (n - 1) bytes out, in and reduced per rank, and as much scratch: for
// small vectors, where one latency counts for more than the bytes. Known as all-gather then local reduce.
void all_reduce_one_shot(Channel& channel, ConstBytes in, Bytes out, const Reduction& reduction) {
  const int rank = channel.rank();
  const int n = channel.size();
  const auto peers = static_cast<std::size_t>(n - 1);
  const Scratch scratch(peers, in.size());
  Operands operands(static_cast<std::size_t>(n));
  operands[rank] = in.data();

  std::vector<Link> links;
  for (int step = 1; step < n; ++step) {
    const int from = ring::modulo(rank - step, n);
    operands[from] = scratch[links.size()].data();
    links.push_back({ring::modulo(rank + step, n), 1, from, 1});
  }
  // The kernel may overwrite `in`: every copy of it has left when the flow is over.
  pipeline(
      channel, Flow{links, Sends::early}, [&](std::size_t, std::size_t) { return in; },
      [&](std::size_t link, std::size_t) { return scratch[link]; }, [](std::size_t) {});
  combine(reduction, out, operands.all(), reduction.divisor);
}

// Direct (two-shot). Segments as for the ring, but over a full mesh: one step in which every rank sends
// segment r of its vector to rank r, which combines all n contributions in rank order in one kernel call (see
// reduce_scatter.cpp), and one step in which every rank sends its finished segment to all. 2 B (n - 1) / n
// bytes out and in per rank; elements of half types are rounded once.
void all_reduce_direct(Channel& channel, ConstBytes in, Bytes out, const Reduction& reduction,
                       std::size_t chunk_bytes) {
  const std::size_t element = reduction.element_bytes;
  const Segments segments({0, in.size() / element}, channel.size());
  direct_reduce(channel, in, cut(out, segments[channel.rank()], element), segments, reduction, chunk_bytes);
  direct_gather(channel, out, segments, element);
}

}  // namespace rondo::collective
