/// Algorithms over memory that all ranks share.
///
/// Everybody reads a slot, only its owner writes it. Between calls it is safe to write at once: the slot of
/// the call before the last is written anew, and this rank has left the last call's meet(), so every rank had
/// left the call before it. Within a call data goes through in rounds of a chunk, and all loops have one
/// form. In turn t a rank
/// - W: writes round t's input to its slot;
/// - waits until all ranks have made step t - 1;
/// - R: reads what they wrote in turn t - 1;
/// - makes step t.
/// So W runs ahead, and who is a little late holds up nobody. What W writes must not be being read: round
/// t - 3 was read in turn t - 2, and in turn t - 1 this rank waited until all had made step t - 2. Three
/// regions taken in turn are therefore enough for W; two for what is written after the wait.
///
/// Where ranks can read each other's memory, larger data do not stop in slots: every algorithm asks
/// single_copy.hpp first, which has then made the first step.

#include <algorithm>
#include <cstddef>

#include "base/check.hpp"
#include "collective/algorithms.hpp"
#include "collective/partition.hpp"
#include "collective/scratch.hpp"
#include "collective/single_copy.hpp"
#include "collective/steps.hpp"

namespace rondo::collective {

namespace {

/// Bytes that a rank reads from all slots together in the one-step form of a reduction among more than two.
/// The form reads n vectors where the other reads two, and saves a step: about a microsecond, in which a core
/// reads some 10 KB from other cores; more where ranks outnumber cores. So 8 KiB a vector for 4 ranks, 4 KiB
/// for 8.
constexpr std::size_t one_step_bytes = std::size_t{32} << 10;
/// Where all ranks write and read alike, nothing is gained by small chunks; this many bytes stay in a core's
/// own cache.
constexpr std::size_t most_chunk_bytes = std::size_t{128} << 10;
/// Where some write what others read, the two overlap if there are several rounds; but a chunk is not made
/// smaller than this.
constexpr std::size_t wanted_rounds = 4;
constexpr std::size_t least_chunk_bytes = std::size_t{32} << 10;

/// What the pieces of a slot are aligned to: no element is larger.
constexpr std::size_t grain = 16;
constexpr std::size_t line = 64;

/// A slot cut into three regions of one size, taken in turn.
class Regions {
 public:
  explicit Regions(Channel& channel)
      : channel_(channel), bytes_(round_down(channel.slot(0).size() / 3, grain)) {}
  std::size_t bytes() const noexcept { return bytes_; }
  Bytes of(int rank, std::size_t round) const {
    return channel_.slot(rank).subspan(round % 3 * bytes_, bytes_);
  }

 private:
  Channel& channel_;
  std::size_t bytes_;
};

/// Bytes of a chunk of `all` bytes that some write and others read, at most `most`.
std::size_t overlapping_chunk(std::size_t all, std::size_t most) {
  return std::min(most, std::max(least_chunk_bytes, all / wanted_rounds));
}

/// Where `bytes` bytes that are all of a rank's data lie: beside the step, or in the slot.
Bytes at_once(Channel& channel, int rank, std::size_t bytes) {
  return bytes <= channel.note(rank).size() ? channel.note(rank) : channel.slot(rank);
}

/// Every rank combines everything: n vectors read, and no second step. W: copy the own chunk in; R: combine
/// all chunks in rank order straight into `out`. `out` may be `in`: the own vector is taken from there, and a
/// chunk is written after it was read.
void combine_everything(Channel& channel, Steps& steps, ConstBytes in, Bytes out, const Reduction& reduction,
                        bool keep) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const Range all{0, in.size() / element};
  const bool once = in.size() <= std::min(channel.slot(rank).size(), most_chunk_bytes);
  const Regions regions(channel);
  const std::size_t chunk = once ? std::max<std::size_t>(all.size, 1)
                                 : chunk_elements(std::min(regions.bytes(), most_chunk_bytes), element);
  const std::size_t rounds = chunk_count(all.size, chunk);
  const auto place = [&](int r, std::size_t round) {
    return once ? at_once(channel, r, in.size()) : regions.of(r, round);
  };
  Operands operands(static_cast<std::size_t>(n));
  for (std::size_t turn = 0; turn <= rounds; ++turn) {
    if (turn < rounds) copy(cut(in, chunk_of(all, chunk, turn), element), place(rank, turn));
    steps.all();
    if (turn >= 1 && keep) {
      const Range piece = chunk_of(all, chunk, turn - 1);
      for (int r = 0; r < n; ++r) operands[r] = place(r, turn - 1).data();
      operands[rank] = cut(in, piece, element).data();
      combine(reduction, cut(out, piece, element), operands.all(), reduction.divisor);
    }
    if (turn < rounds) steps.make();
  }
}

/// Where things lie in a slot during combine_parts: three regions for inputs (what others combine: a chunk
/// without the own part), two for results (the own part).
class PartsLayout {
 public:
  explicit PartsLayout(Channel& channel)
      : channel_(channel),
        others_(static_cast<std::size_t>(channel.size()) - 1),
        part_bytes_(round_down(channel.slot(0).size() / (3 * others_ + 2), line)) {}

  /// Room for the largest part of a chunk.
  std::size_t part_bytes() const noexcept { return part_bytes_; }
  /// What `from` gives `to` to combine.
  Bytes input(int from, int to, std::size_t round) const {
    const auto place = static_cast<std::size_t>(to < from ? to : to - 1);
    return part(from, round % 3 * others_ + place);
  }
  /// What `rank` has combined.
  Bytes result(int rank, std::size_t round) const { return part(rank, 3 * others_ + round % 2); }

 private:
  Bytes part(int rank, std::size_t index) const {
    return channel_.slot(rank).subspan(index * part_bytes_, part_bytes_);
  }

  Channel& channel_;
  std::size_t others_;
  std::size_t part_bytes_;
};

/// Every rank combines its part of every chunk. W: copy the others' parts in; R: combine the own part of the
/// round from the own vector and all slots, in rank order, into the own result, and copy all results of the
/// round before it out. With a vector of B bytes and n ranks, 2 (n - 1) / n B bytes moved for the copy in,
/// 1 + 1 / n for combining and 2 for the copy out, per rank. `out` may be `in`: a chunk is written two turns
/// after it was read.
void combine_parts(Channel& channel, Steps& steps, ConstBytes in, Bytes out, const Reduction& reduction,
                   bool keep) {
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const PartsLayout layout(channel);
  const auto parts = static_cast<std::size_t>(n);
  const std::size_t chunk = parts * chunk_elements(std::min(layout.part_bytes(), most_chunk_bytes), element);
  const Range all{0, in.size() / element};
  const std::size_t rounds = chunk_count(all.size, chunk);
  const auto part = [&](std::size_t round, int r) {
    const Range piece = chunk_of(all, chunk, round);
    const Range of_piece = part_of(piece.size, n, r);
    return Range{piece.begin + of_piece.begin, of_piece.size};
  };
  Operands operands(parts);
  for (std::size_t turn = 0; turn < rounds + 2; ++turn) {
    if (turn < rounds) {
      for (int r = 0; r < n; ++r) {
        if (r != rank) copy(cut(in, part(turn, r), element), layout.input(rank, r, turn));
      }
    }
    steps.all();
    if (turn >= 1 && turn <= rounds) {
      const Range mine = part(turn - 1, rank);
      for (int r = 0; r < n; ++r) {
        if (r != rank) operands[r] = layout.input(r, rank, turn - 1).data();
      }
      operands[rank] = cut(in, mine, element).data();
      combine(reduction, layout.result(rank, turn - 1).first(mine.size * element), operands.all(),
              reduction.divisor);
    }
    if (turn >= 2 && keep) {
      for (int r = 0; r < n; ++r) {
        const Range theirs = part(turn - 2, r);
        copy(layout.result(r, turn - 2).first(theirs.size * element), cut(out, theirs, element));
      }
    }
    if (turn <= rounds) steps.make();
  }
}

/// The reduction of all vectors; `keep`: this rank wants it in `out`. Where slots are too small for parts of
/// a useful size, everybody combines everything.
void combine_all(Channel& channel, Steps& steps, ConstBytes in, Bytes out, const Reduction& reduction,
                 bool keep) {
  constexpr std::size_t least_part_bytes = 1024;
  const std::size_t read = in.size() * static_cast<std::size_t>(channel.size());
  // Two ranks move as many bytes between their cores in either form.
  if (channel.size() == 2 || read <= one_step_bytes || PartsLayout(channel).part_bytes() < least_part_bytes) {
    combine_everything(channel, steps, in, out, reduction, keep);
  } else {
    combine_parts(channel, steps, in, out, reduction, keep);
  }
}

}  // namespace

// See combine_all. (Parallel reduction in shared memory: Bayatpour et al., SC 2017.)
void all_reduce_flat(Channel& channel, ConstBytes in, Bytes out, const Reduction& reduction) {
  Steps steps(channel);
  if (single_copy::all_reduce(channel, steps, in, out, reduction)) return;
  combine_all(channel, steps, in, out, reduction, true);
}

// See combine_all: all ranks reduce, the root copies out.
void reduce_flat(Channel& channel, ConstBytes in, Bytes out, int root, const Reduction& reduction) {
  Steps steps(channel);
  if (single_copy::reduce(channel, steps, in, out, root, reduction)) return;
  combine_all(channel, steps, in, out, reduction, channel.rank() == root);
}

// A round is a chunk of every segment; where a region is too small for an element of each, of some segments.
// W: copy the others' pieces in, side by side; R: combine the own one from the own vector and all slots, in
// rank order, into `out`. With a vector of B bytes, 2 (n - 1) / n B bytes moved for the copy in and 1 + 1 / n
// for combining, per rank.
void reduce_scatter_flat(Channel& channel, ConstBytes in, Bytes out, Counts counts,
                         const Reduction& reduction) {
  Steps steps(channel);
  if (single_copy::reduce_scatter(channel, steps, in, out, counts, reduction)) return;
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const Segments segments(counts);
  const Regions regions(channel);
  RONDO_INVARIANT(regions.bytes() >= element);
  const int group = static_cast<int>(std::min(regions.bytes() / element, static_cast<std::size_t>(n)));
  const std::size_t groups = chunk_count(static_cast<std::size_t>(n), static_cast<std::size_t>(group));
  const std::size_t room = round_down(regions.bytes() / static_cast<std::size_t>(group), element);
  const std::size_t chunk = chunk_elements(std::min(room, most_chunk_bytes), element);
  const std::size_t rounds = chunk_count(segments.longest(), chunk) * groups;
  // Of round `index`: the segments in it, and where the piece of one lies in a region.
  const auto first = [&](std::size_t index) { return static_cast<int>(index % groups) * group; };
  const auto place = [&](std::size_t index, int r) {
    return static_cast<std::size_t>(r - first(index)) * chunk * element;
  };
  Operands operands(static_cast<std::size_t>(n));
  for (std::size_t turn = 0; turn <= rounds; ++turn) {
    if (turn < rounds) {
      for (int r = first(turn); r < std::min(first(turn) + group, n); ++r) {
        if (r == rank) continue;
        copy(cut(in, chunk_of(segments[r], chunk, turn / groups), element),
             regions.of(rank, turn).subspan(place(turn, r)));
      }
    }
    steps.all();
    if (turn >= 1 && rank >= first(turn - 1) && rank < first(turn - 1) + group) {
      const Range piece = chunk_of(segments[rank], chunk, (turn - 1) / groups);
      for (int r = 0; r < n; ++r) operands[r] = regions.of(r, turn - 1).data() + place(turn - 1, rank);
      operands[rank] = cut(in, piece, element).data();
      combine(reduction, cut(out, {piece.begin - segments[rank].begin, piece.size}, element), operands.all(),
              reduction.divisor);
    }
    if (turn < rounds) steps.make();
  }
}

// A round is a chunk of every part. W: copy the own one in; R: copy the others' out. With a result of B
// bytes, 2 / n B bytes moved for the copy in and 2 B for the rest, per rank.
void all_gather_flat(Channel& channel, ConstBytes in, Bytes out, Counts sizes) {
  Steps steps(channel);
  if (single_copy::all_gather(channel, steps, in, out, sizes)) return;
  const int rank = channel.rank();
  const Segments segments(sizes);
  const Range own = segments[rank];
  const Regions regions(channel);
  const std::size_t longest = segments.longest();
  const bool beside = longest <= channel.note(rank).size();
  const std::size_t chunk =
      beside ? std::max<std::size_t>(longest, 1) : std::min(regions.bytes(), most_chunk_bytes);
  const std::size_t rounds = chunk_count(longest, chunk);
  const auto place = [&](int r, std::size_t round) {
    return beside ? channel.note(r) : regions.of(r, round);
  };
  for (std::size_t turn = 0; turn <= rounds; ++turn) {
    if (turn < rounds) copy(cut(in, chunk_of({0, own.size}, chunk, turn)), place(rank, turn));
    steps.all();
    if (turn >= 1) {
      for (int r = 0; r < channel.size(); ++r) {
        const Range piece = chunk_of(segments[r], chunk, turn - 1);
        if (r != rank) {
          copy(place(r, turn - 1).first(piece.size), cut(out, piece));
        } else {
          copy(cut(in, {piece.begin - own.begin, piece.size}), cut(out, piece));
        }
      }
    }
    if (turn < rounds) steps.make();
  }
}

// A round is a chunk of every part of a pair. W: copy what others get in, side by side; R: copy the own ones
// out. With B bytes in, 4 (n - 1) / n B bytes moved per rank.
void all_to_all_flat(Channel& channel, ConstBytes in, Bytes out, std::size_t part_bytes) {
  Steps steps(channel);
  if (single_copy::all_to_all(channel, steps, in, out, part_bytes)) return;
  const int rank = channel.rank();
  const int n = channel.size();
  const auto others = static_cast<std::size_t>(n) - 1;
  const Regions regions(channel);
  const std::size_t room = regions.bytes() / others;
  RONDO_INVARIANT(room > 0);
  const std::size_t chunk = std::min(room >= grain ? round_down(room, grain) : room, most_chunk_bytes);
  const std::size_t rounds = chunk_count(part_bytes, chunk);
  const auto part = [&](int r, std::size_t round) {
    return chunk_of({static_cast<std::size_t>(r) * part_bytes, part_bytes}, chunk, round);
  };
  const auto place = [&](int from, int to, std::size_t round) {
    return regions.of(from, round).subspan(static_cast<std::size_t>(to < from ? to : to - 1) * chunk);
  };
  for (std::size_t turn = 0; turn <= rounds; ++turn) {
    for (int r = 0; turn < rounds && r < n; ++r) {
      if (r != rank) copy(cut(in, part(r, turn)), place(rank, r, turn));
    }
    steps.all();
    for (int r = 0; turn >= 1 && r < n; ++r) {
      const Range piece = part(r, turn - 1);
      if (r != rank) {
        copy(place(r, rank, turn - 1).first(piece.size), cut(out, piece));
      } else {
        copy(cut(in, piece), cut(out, piece));
      }
    }
    if (turn < rounds) steps.make();
  }
}

// A round is a chunk of every part. W: all but the root copy in; R: the root copies out.
void gather_flat(Channel& channel, ConstBytes in, Bytes out, int root) {
  Steps steps(channel);
  if (single_copy::gather(channel, steps, in, out, root)) return;
  const int rank = channel.rank();
  const std::size_t bytes = in.size();
  const Regions regions(channel);
  const std::size_t chunk = overlapping_chunk(bytes, regions.bytes());
  const std::size_t rounds = chunk_count(bytes, chunk);
  for (std::size_t turn = 0; turn <= rounds; ++turn) {
    if (turn < rounds && rank != root)
      copy(cut(in, chunk_of({0, bytes}, chunk, turn)), regions.of(rank, turn));
    steps.all();
    for (int r = 0; turn >= 1 && rank == root && r < channel.size(); ++r) {
      const Range piece = chunk_of({0, bytes}, chunk, turn - 1);
      const Bytes to = cut(out, {static_cast<std::size_t>(r) * bytes + piece.begin, piece.size});
      copy(r == root ? cut(in, piece) : ConstBytes(regions.of(r, turn - 1).first(piece.size)), to);
    }
    if (turn < rounds) steps.make();
  }
}

// A round is a chunk of every part, as far as a region holds one of each. W: the root copies in, side by
// side; R: the others copy out.
void scatter_flat(Channel& channel, ConstBytes in, Bytes out, int root) {
  Steps steps(channel);
  if (single_copy::scatter(channel, steps, in, out, root)) return;
  const int rank = channel.rank();
  const int n = channel.size();
  const std::size_t bytes = out.size();
  const auto others = static_cast<std::size_t>(n) - 1;
  const Regions regions(channel);
  const std::size_t room = regions.bytes() / others;
  RONDO_INVARIANT(room > 0);
  const std::size_t chunk = overlapping_chunk(bytes, room >= grain ? round_down(room, grain) : room);
  const std::size_t rounds = chunk_count(bytes, chunk);
  const auto place = [&](int to, std::size_t round) {
    return regions.of(root, round).subspan(static_cast<std::size_t>(to < root ? to : to - 1) * chunk);
  };
  for (std::size_t turn = 0; turn <= rounds; ++turn) {
    for (int r = 0; turn < rounds && rank == root && r < n; ++r) {
      const Range piece = chunk_of({0, bytes}, chunk, turn);
      const ConstBytes from = cut(in, {static_cast<std::size_t>(r) * bytes + piece.begin, piece.size});
      copy(from, r == root ? cut(out, piece) : place(r, turn));
    }
    steps.all();
    if (turn >= 1 && rank != root) {
      const Range piece = chunk_of({0, bytes}, chunk, turn - 1);
      copy(place(rank, turn - 1).first(piece.size), cut(out, piece));
    }
    if (turn < rounds) steps.make();
  }
}

// A round is a chunk. The root copies it in, a step, the others copy it out. They wait for the root alone, so
// it may be one round ahead of them; the root waits for all. Two regions take turns: the root writes the one
// of round i when all have made the step of round i - 1, before which they had read it in round i - 2.
void broadcast_flat(Channel& channel, Bytes data, int root) {
  Steps steps(channel);
  if (single_copy::broadcast(channel, steps, data, root)) return;
  const int rank = channel.rank();
  const Range all{0, data.size()};
  const bool beside = data.size() <= channel.note(rank).size();
  const std::size_t room = channel.slot(rank).size() / 2;
  const std::size_t chunk =
      beside ? std::max<std::size_t>(data.size(), 1) : overlapping_chunk(data.size(), room);
  const std::size_t rounds = chunk_count(all.size, chunk);
  const auto place = [&](std::size_t round) {
    return beside ? channel.note(root) : channel.slot(root).subspan(round % 2 * room, room);
  };
  for (std::size_t i = 0; i < rounds; ++i) {
    const Range piece = chunk_of(all, chunk, i);
    if (rank == root) {
      if (i > 0) steps.all();
      copy(cut(data, piece), place(i));
    }
    steps.make();
    if (rank == root) continue;
    steps.one(root);
    copy(place(i).first(piece.size), cut(data, piece));
  }
  // A rank that leaves has made all its steps, and nobody enters a later call's slots before the next meet().
}

// One step that all ranks make.
void barrier_flat(Channel& channel) { channel.meet(); }

}  // namespace rondo::collective
