/// Every rank's part, on every rank.

#include <vector>

#include "collective/partition.hpp"
#include "collective/phases.hpp"
#include "collective/pipeline.hpp"
#include "collective/ring_phase.hpp"
#include "collective/scratch.hpp"

namespace rondo::collective {

// Ring (Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19, 2005). Segment r is the part
// of rank r. n - 1 steps: in each, a rank sends the segment it received last (first its own) and receives the
// one before it. With a result of B bytes and equal parts, B (n - 1) / n bytes out and in per rank. Segments
// travel in chunks, and a chunk goes on as soon as it is there, so unequal parts cost no more than the
// longest way of the longest.
void ring_gather(Channel& channel, Bytes data, const Segments& segments, std::size_t element_bytes,
                 std::size_t chunk_bytes) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t chunk = chunk_elements(chunk_bytes, element_bytes);
  const std::vector<Range> sends = ring::pieces(segments, chunk, rank, ring::gather_sends);
  const std::vector<Range> receives = ring::pieces(segments, chunk, rank, ring::gather_receives);
  const Link links[] = {{ring::next(rank, n), sends.size(), ring::previous(rank, n), receives.size()}};
  pipeline(
      channel, Flow{links, Sends::level},
      [&](std::size_t, std::size_t i) -> ConstBytes { return cut(data, sends[i], element_bytes); },
      [&](std::size_t, std::size_t i) { return cut(data, receives[i], element_bytes); }, [](std::size_t) {});
}

// Direct: one step, in which every rank sends its part to every other. With a result of B bytes and equal
// parts, B (n - 1) / n bytes out and in per rank, over a full mesh.
void direct_gather(Channel& channel, Bytes data, const Segments& segments, std::size_t element_bytes) {
  const int rank = channel.rank();
  const int n = channel.size();
  std::vector<Link> links;
  for (int step = 1; step < n; ++step) {
    links.push_back({ring::modulo(rank + step, n), 1, ring::modulo(rank - step, n), 1});
  }
  pipeline(
      channel, Flow{links, Sends::early},
      [&](std::size_t, std::size_t) -> ConstBytes { return cut(data, segments[rank], element_bytes); },
      [&](std::size_t link, std::size_t) { return cut(data, segments[links[link].from], element_bytes); },
      [](std::size_t) {});
}

void all_gather_ring(Channel& channel, ConstBytes in, Bytes out, Counts sizes, std::size_t chunk_bytes) {
  const Segments segments(sizes);
  copy(in, cut(out, segments[channel.rank()]));
  ring_gather(channel, out, segments, 1, chunk_bytes);
}

void all_gather_direct(Channel& channel, ConstBytes in, Bytes out, Counts sizes) {
  const Segments segments(sizes);
  copy(in, cut(out, segments[channel.rank()]));
  direct_gather(channel, out, segments, 1);
}

}  // namespace rondo::collective
