#include "collective/single_copy.hpp"

#include <algorithm>
#include <cstring>

#include "collective/partition.hpp"
#include "collective/scratch.hpp"

namespace rondo::collective::single_copy {

namespace {

using transport::Place;

/// Beyond this many bytes private memory is better copied through slots: both ways then stream through
/// memory, and there are two cores to do it.
constexpr std::size_t most_private_bytes = std::size_t{4} << 20;
/// Two ranks that combine everything, each for itself, save a step and move more bytes: up to here it pays.
constexpr std::size_t most_twice_bytes = std::size_t{4} << 20;
/// What is combined at a time: of every rank's memory this much stays in a core's own cache.
constexpr std::size_t most_chunk_bytes = std::size_t{64} << 10;

/// What a rank tells when it meets the others.
struct Told {
  Place in;
  Place out;
  std::uint32_t reads = 0;     ///< it can read private memory of all others
  std::uint32_t in_place = 0;  ///< its result goes where its input lies
};
static_assert(sizeof(Told) <= transport::Note::room);

/// True from the size on from which it is worth while to ask; below, all there is may lie in notes.
bool worth(const Channel& channel, std::size_t bytes) {
  return channel.single_copy_bytes() > 0 &&
         bytes >= std::max(channel.single_copy_bytes(), transport::Note::room + 1);
}

/// The first step of a call, and what the others told in it.
class Meeting {
 public:
  Meeting(Channel& channel, Steps& steps, ConstBytes in, ConstBytes out) : channel_(channel) {
    const Told mine{channel.place_of(in), channel.place_of(out), channel.reads_others() ? 1U : 0U,
                    in.data() == out.data() ? 1U : 0U};
    std::memcpy(channel.note(channel.rank()).data(), &mine, sizeof mine);
    steps.make();
  }

  Told of(int rank) const {
    Told told;
    std::memcpy(&told, channel_.note(rank).data(), sizeof told);
    return told;
  }
  /// What every rank has told.
  bool every(bool (*holds)(const Told&)) const {
    for (int r = 0; r < channel_.size(); ++r) {
      if (!holds(of(r))) return false;
    }
    return true;
  }

 private:
  Channel& channel_;
};

bool can_read(const Told& told) { return told.reads != 0; }
bool has_shared_in(const Told& told) { return told.in.shared != 0; }
bool has_shared_out(const Told& told) { return told.out.shared != 0; }
bool is_apart(const Told& told) { return told.in_place == 0; }

/// Whether all can read `bytes` bytes of the root's input: also private memory, which is then read by many at
/// once instead of being written by one.
bool in_reach_of_all(const Meeting& meeting, int root, std::size_t bytes) {
  return has_shared_in(meeting.of(root)) || (meeting.every(can_read) && bytes <= most_private_bytes);
}

/// All other ranks, the next one first, so that not all read from the same.
template <class Action>
void each_other(const Channel& channel, Action&& action) {
  for (int distance = 1; distance < channel.size(); ++distance) {
    action((channel.rank() + distance) % channel.size());
  }
}

/// Combines `range` of all ranks' vectors (elements), in rank order, into `out`, which begins there.
void combine_range(Channel& channel, const Meeting& meeting, ConstBytes in, Range range, Bytes out,
                   const Reduction& reduction) {
  const std::size_t element = reduction.element_bytes;
  const std::size_t chunk = chunk_elements(most_chunk_bytes, element);
  const std::size_t chunks = range.size == 0 ? 0 : chunk_count(range.size, chunk);
  Operands operands(static_cast<std::size_t>(channel.size()));
  for (std::size_t i = 0; i < chunks; ++i) {
    const Range piece = chunk_of(range, chunk, i);
    for (int r = 0; r < channel.size(); ++r) {
      operands[r] = r == channel.rank()
                        ? cut(in, piece, element).data()
                        : channel.look_at(r, meeting.of(r).in, piece.begin * element, piece.size * element);
    }
    combine(reduction, cut(out, {piece.begin - range.begin, piece.size}, element), operands.all(),
            reduction.divisor);
  }
}

}  // namespace

// Two ranks that do not work in place combine everything, each for itself, up to a size: B bytes read from
// the other, and no second step. Otherwise each combines its part of the vector and reads the other parts of
// the result: 2 (n - 1) / n B bytes read. In place nobody reads what another writes: a part is read by its
// owner alone until the step, and written by it alone.
bool all_reduce(Channel& channel, Steps& steps, ConstBytes in, Bytes out, const Reduction& reduction) {
  if (!worth(channel, in.size())) return false;
  const Meeting meeting(channel, steps, in, out);
  if (!meeting.every(has_shared_in)) return false;
  const int n = channel.size();
  const std::size_t element = reduction.element_bytes;
  const Range all{0, in.size() / element};
  const bool has_results = meeting.every(has_shared_out);
  if (n == 2 && meeting.every(is_apart) && (in.size() <= most_twice_bytes || !has_results)) {
    combine_range(channel, meeting, in, all, out, reduction);
  } else {
    if (!has_results) return false;
    const Range own = part_of(all.size, n, channel.rank());
    combine_range(channel, meeting, in, own, cut(out, own, element), reduction);
    steps.make();
    each_other(channel, [&](int r) {
      const Range part = part_of(all.size, n, r);
      steps.one(r);
      channel.fetch(r, meeting.of(r).out, part.begin * element, cut(out, part, element));
    });
  }
  steps.make();
  steps.all();
  return true;
}

// The root reads and combines everything: of use only to two, whose other rank would be idle in any case.
bool reduce(Channel& channel, Steps& steps, ConstBytes in, Bytes out, int root, const Reduction& reduction) {
  if (channel.size() > 2 || !worth(channel, in.size())) return false;
  const Meeting meeting(channel, steps, in, out);
  if (!meeting.every(has_shared_in)) return false;
  if (channel.rank() == root)
    combine_range(channel, meeting, in, {0, in.size() / reduction.element_bytes}, out, reduction);
  steps.make();
  if (channel.rank() != root) steps.one(root);
  return true;
}

// Each combines its segment: (n - 1) / n B bytes read, of vectors of B bytes.
bool reduce_scatter(Channel& channel, Steps& steps, ConstBytes in, Bytes out, Counts counts,
                    const Reduction& reduction) {
  const Segments segments(counts);
  if (!worth(channel, segments.longest() * reduction.element_bytes)) return false;
  const Meeting meeting(channel, steps, in, out);
  if (!meeting.every(has_shared_in)) return false;
  combine_range(channel, meeting, in, segments[channel.rank()], out, reduction);
  steps.make();
  steps.all();
  return true;
}

bool all_gather(Channel& channel, Steps& steps, ConstBytes in, Bytes out, Counts sizes) {
  const Segments segments(sizes);
  if (!worth(channel, segments.longest())) return false;
  const Meeting meeting(channel, steps, in, out);
  if (!meeting.every(has_shared_in)) return false;
  copy(in, cut(out, segments[channel.rank()]));
  each_other(channel, [&](int r) { channel.fetch(r, meeting.of(r).in, 0, cut(out, segments[r])); });
  steps.make();
  steps.all();
  return true;
}

bool all_to_all(Channel& channel, Steps& steps, ConstBytes in, Bytes out, std::size_t part_bytes) {
  if (!worth(channel, part_bytes)) return false;
  const Meeting meeting(channel, steps, in, out);
  if (!meeting.every(has_shared_in)) return false;
  const auto part = [&](int r) { return Range{static_cast<std::size_t>(r) * part_bytes, part_bytes}; };
  const Range own = part(channel.rank());
  copy(cut(in, own), cut(out, own));
  each_other(channel, [&](int r) { channel.fetch(r, meeting.of(r).in, own.begin, cut(out, part(r))); });
  steps.make();
  steps.all();
  return true;
}

// The root alone reads; the others wait for it.
bool gather(Channel& channel, Steps& steps, ConstBytes in, Bytes out, int root) {
  if (!worth(channel, in.size())) return false;
  const Meeting meeting(channel, steps, in, out);
  if (!meeting.every(has_shared_in)) return false;
  const auto part = [&](int r) { return Range{static_cast<std::size_t>(r) * in.size(), in.size()}; };
  if (channel.rank() == root) {
    copy(in, cut(out, part(root)));
    each_other(channel, [&](int r) { channel.fetch(r, meeting.of(r).in, 0, cut(out, part(r))); });
  }
  steps.make();
  if (channel.rank() != root) steps.one(root);
  return true;
}

// All read from the root, which waits for them.
bool scatter(Channel& channel, Steps& steps, ConstBytes in, Bytes out, int root) {
  if (!worth(channel, out.size())) return false;
  const Meeting meeting(channel, steps, in, out);
  if (!in_reach_of_all(meeting, root, out.size())) return false;
  const std::size_t begin = static_cast<std::size_t>(channel.rank()) * out.size();
  if (channel.rank() == root) {
    copy(cut(in, {begin, out.size()}), out);
  } else {
    channel.fetch(root, meeting.of(root).in, begin, out);
  }
  steps.make();
  if (channel.rank() == root) steps.all();
  return true;
}

bool broadcast(Channel& channel, Steps& steps, Bytes data, int root) {
  if (!worth(channel, data.size())) return false;
  const Meeting meeting(channel, steps, data, data);
  if (!in_reach_of_all(meeting, root, data.size())) return false;
  if (channel.rank() != root) channel.fetch(root, meeting.of(root).in, 0, data);
  steps.make();
  if (channel.rank() == root) steps.all();
  return true;
}

}  // namespace rondo::collective::single_copy
