#pragma once
/// What the two phases of ring algorithms share: the chunks of a rank in the order in which they travel.

#include <vector>

#include "collective/partition.hpp"
#include "collective/pipeline.hpp"
#include "collective/ring.hpp"
#include "collective/scratch.hpp"

namespace rondo::collective::ring {

using SegmentAt = int (*)(int rank, int step, int n) noexcept;

/// Every chunk that `rank` handles in all steps of a phase, step by step.
inline std::vector<Range> pieces(const Segments& segments, std::size_t chunk, int rank,
                                 SegmentAt segment_at) {
  const int n = segments.size();
  std::vector<Range> pieces;
  for (int step = 0; step < steps(n); ++step) {
    const Range segment = segments[segment_at(rank, step, n)];
    const std::size_t chunks = chunk_count(segment.size, chunk);
    for (std::size_t i = 0; i < chunks; ++i) pieces.push_back(chunk_of(segment, chunk, i));
  }
  return pieces;
}

/// The reduce-scatter phase. Receive i (of all steps) lands in buffer i mod `buffers`, is combined with the
/// same elements of `in`, earlier ranks of the ring first, and goes to place(i, piece, buffer, last): `last`
/// says that this was the last contribution. From there it is sent in the next step. Because send i forwards
/// receive i - c, where c is the number of chunks of the first segment, a chunk is reduced while the next
/// one is on its way, across the border between steps too.
template <class Place>
void reduce_phase(Channel& channel, ConstBytes in, const Segments& segments, const Reduction& reduction,
                  std::size_t chunk, std::size_t buffers, const Place& place) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const std::vector<Range> sends = pieces(segments, chunk, rank, reduce_sends);
  const std::vector<Range> receives = pieces(segments, chunk, rank, reduce_receives);
  const std::size_t own = chunk_count(segments[reduce_sends(rank, 0, n)].size, chunk);
  const std::size_t last_step = receives.size() - chunk_count(segments[rank].size, chunk);
  const Scratch scratch(buffers, chunk * element);

  const auto landing = [&](std::size_t i) { return scratch[i % buffers].first(receives[i].size * element); };
  const auto placed = [&](std::size_t i) { return place(receives[i], landing(i), i >= last_step); };
  const Link links[] = {{next(rank, n), sends.size(), previous(rank, n), receives.size()}};
  pipeline(
      channel, Flow{links, Sends::level},
      [&](std::size_t, std::size_t i) -> ConstBytes {
        return i < own ? cut(in, sends[i], element) : ConstBytes(placed(i - own));
      },
      [&](std::size_t, std::size_t i) { return landing(i); },
      [&](std::size_t i) {
        const void* const operands[] = {landing(i).data(), cut(in, receives[i], element).data()};
        combine(reduction, placed(i), operands, i >= last_step ? reduction.divisor : 0);
      });
}

}  // namespace rondo::collective::ring
