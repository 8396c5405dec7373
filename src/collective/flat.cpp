/// Algorithms over memory that all ranks share. A step is Channel::meet (the first one) or arrive + await.
///
/// A rank's slot of this call is taken as two equal regions. Everybody reads a slot, only its owner writes
/// it. Between calls it is safe to write at once: the slot of the call before the last is written anew, and
/// this rank has left the last call's meet(), so every rank had left the call before it. Within a call each
/// loop says why a region may be written again.

#include <algorithm>
#include <cstddef>

#include "base/check.hpp"
#include "collective/algorithms.hpp"
#include "collective/partition.hpp"
#include "collective/scratch.hpp"

namespace rondo::collective {

namespace {

/// Bytes that a rank reads from all slots together in the one-step form of a reduction. The form reads n
/// vectors where the other reads two, and saves a step: about a microsecond, in which a core reads some 10 KB
/// from other cores; more where ranks outnumber cores. So 16 KiB a vector for 2 ranks, 8 KiB for 4, 4 KiB
/// for 8.
constexpr std::size_t one_step_bytes = std::size_t{32} << 10;

/// The steps of one call.
class Steps {
 public:
  explicit Steps(Channel& channel) : channel_(channel) {}
  /// Makes a step: what was written to the own slot may be read by others.
  void make() {
    if (met_) {
      channel_.arrive();
      waited_ = false;
    } else {
      channel_.meet();
    }
    met_ = true;
  }
  /// Waits until all ranks have made it.
  void all() {
    if (!waited_) channel_.await_all();
    waited_ = true;
  }
  /// Waits until `rank` has made it.
  void one(int rank) {
    if (!waited_) channel_.await(rank);
  }

 private:
  Channel& channel_;
  bool met_ = false;
  bool waited_ = true;
};

std::size_t region_bytes(Channel& channel) { return channel.slot(channel.rank()).size() / 2; }
Bytes region(Channel& channel, int rank, std::size_t which) {
  const std::size_t bytes = region_bytes(channel);
  return channel.slot(rank).subspan(which % 2 * bytes, bytes);
}

/// The reduction of all vectors; `keep`: this rank wants it in `out`. Two forms.
///
/// Small vectors, one step: copy the own vector in, meet, combine all slots in rank order straight into
/// `out`. Every rank does the same work on the same bytes. `out` may be `in`: the copy in the slot is what is
/// read.
///
/// Otherwise in rounds of a chunk as long as a region. Regions: 0 inputs, 1 results. Copy the chunk in; step
/// A; combine this rank's part of it from all slots, in rank order, into the result region; step B; copy all
/// parts out. With a vector of B bytes, about (5 + 1 / n) B bytes moved per rank.
/// - Region 0 is written again after step B, and all had read it before they made step B.
/// - Region 1 is written again after step A of the next round, and all had read it before they made that
/// step.
void combine_all(Channel& channel, ConstBytes in, Bytes out, const Reduction& reduction, bool keep) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const std::size_t room = region_bytes(channel);
  Operands operands(static_cast<std::size_t>(n));
  const auto point = [&](std::size_t offset) {
    for (int r = 0; r < n; ++r) operands[r] = region(channel, r, 0).data() + offset;
  };
  if (in.size() <= std::min(room, one_step_bytes / static_cast<std::size_t>(n))) {
    copy(in, region(channel, rank, 0));
    channel.meet();
    point(0);
    if (keep) combine(reduction, out, operands.all(), reduction.divisor);
    return;
  }
  RONDO_INVARIANT(room >= element);
  const Range whole{0, in.size() / element};
  const std::size_t chunk = chunk_elements(room, element);
  const std::size_t rounds = chunk_count(whole.size, chunk);
  Steps steps(channel);
  for (std::size_t i = 0; i < rounds; ++i) {
    const Range piece = chunk_of(whole, chunk, i);
    copy(cut(in, piece, element), region(channel, rank, 0));
    steps.make();
    steps.all();
    const Range mine = part_of(piece.size, n, rank);
    point(mine.begin * element);
    combine(reduction, region(channel, rank, 1).first(mine.size * element), operands.all(),
            reduction.divisor);
    steps.make();
    steps.all();
    if (!keep) continue;
    for (int r = 0; r < n; ++r) {
      const Range part = part_of(piece.size, n, r);
      copy(region(channel, r, 1).first(part.size * element),
           cut(out, {piece.begin + part.begin, part.size}, element));
    }
  }
}

}  // namespace

// See combine_all. (Parallel reduction in shared memory: Bayatpour et al., SC 2017.)
void all_reduce_flat(Channel& channel, ConstBytes in, Bytes out, const Reduction& reduction) {
  combine_all(channel, in, out, reduction, true);
}

// See combine_all: all ranks reduce, the root copies out.
void reduce_flat(Channel& channel, ConstBytes in, Bytes out, int root, const Reduction& reduction) {
  combine_all(channel, in, out, reduction, channel.rank() == root);
}

// Rounds of a chunk of every segment: copy what others want of this chunk in, side by side; a step; combine
// the own segment's chunk from all slots, in rank order, into `out`. Where a region is too small for an
// element of every segment, the segments are taken in groups that fit. With a vector of B bytes, 2 B bytes
// moved for the copy in and B + B / n for the rest, per rank. The regions take turns: the one of round i was
// read in round i - 2, before all made the step of round i - 1.
void reduce_scatter_flat(Channel& channel, ConstBytes in, Bytes out, Counts counts,
                         const Reduction& reduction) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const Segments segments(counts);
  const std::size_t room = region_bytes(channel) / element;
  RONDO_INVARIANT(room > 0);
  const int group = static_cast<int>(std::min(room, static_cast<std::size_t>(n)));
  const std::size_t chunk = room / static_cast<std::size_t>(group);
  const std::size_t rounds = chunk_count(segments.longest(), chunk);
  Operands operands(static_cast<std::size_t>(n));
  Steps steps(channel);
  std::size_t turn = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    for (int first = 0; first < n; first += group, ++turn) {
      const int end = std::min(first + group, n);
      const auto offset = [&](int r) { return static_cast<std::size_t>(r - first) * chunk * element; };
      for (int r = first; r < end; ++r) {
        if (r == rank) continue;
        copy(cut(in, chunk_of(segments[r], chunk, i), element),
             region(channel, rank, turn).subspan(offset(r)));
      }
      steps.make();
      steps.all();
      if (rank < first || rank >= end) continue;
      const Range piece = chunk_of(segments[rank], chunk, i);
      for (int r = 0; r < n; ++r) operands[r] = region(channel, r, turn).data() + offset(rank);
      operands[rank] = cut(in, piece, element).data();
      combine(reduction, cut(out, {piece.begin - segments[rank].begin, piece.size}, element), operands.all(),
              reduction.divisor);
    }
  }
}

// Rounds of a region of every part: copy in, a step, copy the others' out. With a result of B bytes, 2 B
// bytes moved per rank and 2 B / n for the copy in. The regions take turns: the one of round i was read in
// round i - 2, before all made the step of round i - 1.
void all_gather_flat(Channel& channel, ConstBytes in, Bytes out, Counts sizes) {
  const int rank = channel.rank();
  const Segments segments(sizes);
  const Range own = segments[rank];
  const std::size_t chunk = region_bytes(channel);
  const std::size_t rounds = chunk_count(segments.longest(), chunk);
  Steps steps(channel);
  for (std::size_t i = 0; i < rounds; ++i) {
    copy(cut(in, chunk_of({0, own.size}, chunk, i)), region(channel, rank, i));
    steps.make();
    steps.all();
    for (int r = 0; r < channel.size(); ++r) {
      if (r == rank) continue;
      const Range piece = chunk_of(segments[r], chunk, i);
      copy(region(channel, r, i).first(piece.size), cut(out, piece));
    }
  }
  copy(in, cut(out, own));
}

// Rounds of a region: the root copies in, a step, the others copy out. They wait for the root alone, so it
// may be one round ahead of them; the root waits for all. The regions take turns: the root writes the one of
// round i when all have made the step of round i - 1, before which they had read it in round i - 2.
void broadcast_flat(Channel& channel, Bytes data, int root) {
  const int rank = channel.rank();
  const Range whole{0, data.size()};
  const std::size_t chunk = region_bytes(channel);
  const std::size_t rounds = chunk_count(whole.size, chunk);
  Steps steps(channel);
  for (std::size_t i = 0; i < rounds; ++i) {
    const Range piece = chunk_of(whole, chunk, i);
    if (rank == root) {
      if (i > 0) steps.all();
      copy(cut(data, piece), region(channel, root, i));
    }
    steps.make();
    if (rank == root) continue;
    steps.one(root);
    copy(region(channel, root, i).first(piece.size), cut(data, piece));
  }
  // A rank that leaves has made all its steps, and nobody enters a later call's slots before the next meet().
}

// One step that all ranks make.
void barrier_flat(Channel& channel) { channel.meet(); }

}  // namespace rondo::collective
