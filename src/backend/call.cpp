#include "backend/call.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rondo/config.hpp"
#include "tensor/layout.hpp"

namespace rondo::backend {

namespace {

void same_dtype(std::string_view verb, const ConstView& in, const ConstView& out) {
  if (in.dtype() == out.dtype()) return;
  invalid(fmt::format("{}: in is {}, out is {}; expected the same dtype", verb, to_string(in.dtype()),
                      to_string(out.dtype())));
}

void elements(std::string_view verb, std::string_view what, const ConstView& view, std::size_t expected,
              const std::string& why) {
  if (view.count() == expected) return;
  invalid(fmt::format("{}: {} has {} elements, expected {} ({})", verb, what, view.count(), expected, why));
}

void reducible(std::string_view verb, ReduceOp op, DType dtype) {
  if (supported(op, dtype)) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("{}: {} of {} is not defined", verb, to_string(op), to_string(dtype)));
}

void root_in_range(std::string_view verb, int root, Seat seat) {
  if (root >= 0 && root < seat.size) return;
  invalid(fmt::format("{}: root {} is not a rank of a group of {}", verb, root, seat.size));
}

void has_memory(std::string_view verb, std::string_view what, const ConstView& view) {
  if (view.count() == 0 || view.data() != nullptr) return;
  invalid(fmt::format("{}: {} has {} elements and a null pointer for memory", verb, what, view.count()));
}

bool same_place(const ConstView& a, const ConstView& b) noexcept {
  return a.data() == b.data() && std::ranges::equal(a.strides(), b.strides()) &&
         std::ranges::equal(a.shape(), b.shape());
}

// in and out may be the same place, or `in` may be the part of out (both gapless) that begins at
// `own_offset`.
void no_overlap(std::string_view verb, const ConstView& in, const ConstView& out,
                std::optional<std::size_t> own_offset, bool may_be_same) {
  if (!tensor::overlaps(tensor::memory_range(in), tensor::memory_range(out))) return;
  if (may_be_same && (same_place(in, out) || (in.data() == out.data() && in.contiguous() &&
                                              out.contiguous() && in.count() == out.count()))) {
    return;
  }
  if (own_offset && in.contiguous() && out.contiguous() && in.data() == out.data() + *own_offset) return;
  invalid(fmt::format("{}: in and out overlap in memory", verb));
}

std::size_t scaled(std::string_view verb, std::size_t rows, std::size_t row) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(rows, row, &total))
    invalid(fmt::format("{}: {} rows of {} elements overflow", verb, rows, row));
  return total;
}

std::size_t bytes_before(std::span<const std::size_t> counts, int rank, std::size_t row_bytes) {
  std::size_t rows = 0;
  for (int r = 0; r < rank; ++r) rows += counts[static_cast<std::size_t>(r)];
  return rows * row_bytes;
}

class Validator {
 public:
  explicit Validator(Seat seat) : seat_(seat), n_(static_cast<std::size_t>(seat.size)) {}

  void operator()(const AllReduce& c) const {
    const std::string_view verb = transport::name_of(Verb::all_reduce, c.op);
    same_dtype(verb, c.in, c.out);
    reducible(verb, c.op, c.in.dtype());
    elements(verb, "out", c.out, c.in.count(), "as many as in");
    no_overlap(verb, c.in, c.out, {}, true);
  }
  void operator()(const AllGather& c) const {
    constexpr std::string_view verb = "all_gather";
    same_dtype(verb, c.in, c.out);
    elements(verb, "out", c.out, scaled(verb, n_, c.in.count()),
             fmt::format("{} ranks x {} in in", seat_.size, c.in.count()));
    no_overlap(verb, c.in, c.out, c.in.bytes() * static_cast<std::size_t>(seat_.rank), seat_.size == 1);
  }
  void operator()(const AllGatherV& c) const {
    constexpr std::string_view verb = "all_gather_v";
    same_dtype(verb, c.in, c.out);
    const std::size_t row = rows(verb, c.in, c.out, c.counts, seat_.rank);
    no_overlap(verb, c.in, c.out, bytes_before(c.counts, seat_.rank, row * size_of(c.in.dtype())),
               seat_.size == 1);
  }
  void operator()(const ReduceScatter& c) const {
    const std::string_view verb = transport::name_of(Verb::reduce_scatter, c.op);
    same_dtype(verb, c.in, c.out);
    reducible(verb, c.op, c.in.dtype());
    elements(verb, "in", c.in, scaled(verb, n_, c.out.count()),
             fmt::format("{} ranks x {} in out", seat_.size, c.out.count()));
    no_overlap(verb, c.in, c.out, {}, seat_.size == 1);
  }
  void operator()(const ReduceScatterV& c) const {
    const std::string_view verb = transport::name_of(Verb::reduce_scatter_v, c.op);
    same_dtype(verb, c.in, c.out);
    reducible(verb, c.op, c.in.dtype());
    rows(verb, c.out, c.in, c.counts, seat_.rank, "out", "in");
    no_overlap(verb, c.in, c.out, {}, seat_.size == 1);
  }
  void operator()(const Broadcast& c) const { root_in_range("broadcast", c.root, seat_); }
  void operator()(const Reduce& c) const {
    constexpr std::string_view verb = "reduce";
    root_in_range(verb, c.root, seat_);
    reducible(verb, c.op, c.in.dtype());
    if (seat_.rank != c.root) return;
    same_dtype(verb, c.in, c.out);
    elements(verb, "out", c.out, c.in.count(), "as many as in");
    no_overlap(verb, c.in, c.out, {}, true);
  }
  void operator()(const Gather& c) const {
    constexpr std::string_view verb = "gather";
    root_in_range(verb, c.root, seat_);
    if (seat_.rank != c.root) return;
    same_dtype(verb, c.in, c.out);
    elements(verb, "out", c.out, scaled(verb, n_, c.in.count()),
             fmt::format("{} ranks x {} in in", seat_.size, c.in.count()));
    no_overlap(verb, c.in, c.out, c.in.bytes() * static_cast<std::size_t>(seat_.rank), seat_.size == 1);
  }
  void operator()(const GatherV& c) const {
    constexpr std::string_view verb = "gather_v";
    root_in_range(verb, c.root, seat_);
    if (seat_.rank != c.root) {
      part(verb, "in", c.in, c.counts, seat_.rank);
      return;
    }
    same_dtype(verb, c.in, c.out);
    const std::size_t row = rows(verb, c.in, c.out, c.counts, seat_.rank);
    no_overlap(verb, c.in, c.out, bytes_before(c.counts, seat_.rank, row * size_of(c.in.dtype())),
               seat_.size == 1);
  }
  void operator()(const Scatter& c) const {
    constexpr std::string_view verb = "scatter";
    root_in_range(verb, c.root, seat_);
    if (seat_.rank != c.root) return;
    same_dtype(verb, c.in, c.out);
    elements(verb, "in", c.in, scaled(verb, n_, c.out.count()),
             fmt::format("{} ranks x {} in out", seat_.size, c.out.count()));
    no_overlap(verb, c.out, c.in, c.out.bytes() * static_cast<std::size_t>(seat_.rank), seat_.size == 1);
  }
  void operator()(const ScatterV& c) const {
    constexpr std::string_view verb = "scatter_v";
    root_in_range(verb, c.root, seat_);
    if (seat_.rank != c.root) {
      part(verb, "out", c.out, c.counts, seat_.rank);
      return;
    }
    same_dtype(verb, c.in, c.out);
    const std::size_t row = rows(verb, c.out, c.in, c.counts, seat_.rank, "out", "in");
    no_overlap(verb, c.out, c.in, bytes_before(c.counts, seat_.rank, row * size_of(c.in.dtype())),
               seat_.size == 1);
  }
  void operator()(const AllToAll& c) const {
    constexpr std::string_view verb = "all_to_all";
    same_dtype(verb, c.in, c.out);
    elements(verb, "out", c.out, c.in.count(), "as many as in");
    if (c.in.count() % n_ != 0) {
      invalid(
          fmt::format("{}: {} elements do not divide into {} equal parts", verb, c.in.count(), seat_.size));
    }
    no_overlap(verb, c.in, c.out, {}, seat_.size == 1);
  }
  void operator()(const AllToAllV& c) const {
    constexpr std::string_view verb = "all_to_all_v";
    const Shape shape = all_to_all_v_shape(c.in.dtype(), c.in.shape(), c.send_counts, c.recv_counts, seat_);
    same_dtype(verb, c.in, c.out);
    elements(verb, "out", c.out, element_count(shape), "rows received " + to_string(shape));
    no_overlap(verb, c.in, c.out, {}, seat_.size == 1);
  }
  void operator()(const Barrier&) const {}

 private:
  // A rank's own part of a v form: counts[rank] rows of any one size.
  std::size_t part(std::string_view verb, std::string_view name, const ConstView& view,
                   std::span<const std::size_t> counts, int rank) const {
    counted_rows(verb, counts, seat_);
    const std::size_t own = counts[static_cast<std::size_t>(rank)];
    if (own == 0) {
      elements(verb, name, view, 0, "this rank's count is 0");
      return row_elements(view.shape());
    }
    if (view.count() % own != 0) {
      invalid(fmt::format("{}: {} has {} elements, which are not {} equal rows (counts[{}])", verb, name,
                          view.count(), own, rank));
    }
    return view.count() / own;
  }

  // `mine`: counts[rank] rows; `all`: sum(counts) rows. Returns the elements of a row.
  std::size_t rows(std::string_view verb, const ConstView& mine, const ConstView& all,
                   std::span<const std::size_t> counts, int rank, std::string_view mine_name = "in",
                   std::string_view all_name = "out") const {
    const std::size_t own_row = part(verb, mine_name, mine, counts, rank);
    const std::size_t total = counted_rows(verb, counts, seat_);
    const std::size_t row = counts[static_cast<std::size_t>(rank)] > 0 ? own_row
                            : total > 0                                ? all.count() / total
                                                                       : own_row;
    elements(verb, all_name, all, scaled(verb, total, row),
             fmt::format("{} rows of {} elements", total, row));
    return row;
  }

  Seat seat_;
  std::size_t n_;
};

}  // namespace

void invalid(const std::string& text) { throw Error(ErrorKind::invalid_argument, text); }

Verb verb_of(const Collective& call) noexcept {
  constexpr Verb verbs[] = {
      Verb::all_reduce, Verb::all_gather, Verb::all_gather_v, Verb::reduce_scatter, Verb::reduce_scatter_v,
      Verb::broadcast,  Verb::reduce,     Verb::gather,       Verb::gather_v,       Verb::scatter,
      Verb::scatter_v,  Verb::all_to_all, Verb::all_to_all_v, Verb::barrier};
  static_assert(std::size(verbs) == std::variant_size_v<Collective>);
  return verbs[call.index()];
}

std::string_view name_of(const Collective& call) noexcept {
  return std::visit(
      [&](const auto& c) {
        if constexpr (requires { c.op; }) {
          return transport::name_of(verb_of(call), c.op);
        } else {
          return to_string(verb_of(call));
        }
      },
      call);
}

void validate(const Collective& call, Seat seat) {
  std::visit(
      [&](const auto& c) {
        if constexpr (requires { c.in; }) {
          has_memory(name_of(call), "in", c.in);
          has_memory(name_of(call), "out", c.out);
        } else if constexpr (requires { c.data; }) {
          has_memory(name_of(call), "data", c.data);
        }
      },
      call);
  std::visit(Validator(seat), call);
}

void validate_peer(std::string_view verb, std::string_view side, int peer, Seat seat) {
  if (seat.size == 1 && peer == seat.rank) {
    // A group of one has nobody to talk to; the text of the own rank says so best.
  } else if (peer < 0) {
    invalid(fmt::format("{}: {} {} is negative", verb, side, peer));
  } else if (peer >= seat.size) {
    invalid(fmt::format("{}: {} {} >= world_size {}", verb, side, peer, seat.size));
  }
  if (peer == seat.rank) {
    invalid(fmt::format("{}: {} equals self rank{}", verb, side,
                        side == "dst_rank" ? " — use a tensor copy instead" : ""));
  }
}

void validate_tag(std::string_view verb, int tag, bool wildcard) {
  if (tag >= 0 || (wildcard && tag == any_tag)) return;
  invalid(fmt::format("{}: tag {} is negative{}", verb, tag, wildcard ? " (only any_tag may be)" : ""));
}

void validate(std::string_view verb, const Message& message, Seat seat) {
  if (const auto* send = std::get_if<Send>(&message)) {
    validate_peer(verb, "dst_rank", send->to, seat);
    validate_tag(verb, send->tag, false);
    has_memory(verb, "data", send->data);
    return;
  }
  const auto& recv = std::get<Recv>(message);
  if (recv.from != any_source) {
    validate_peer(verb, "src_rank", recv.from, seat);
  } else if (seat.size == 1) {
    invalid(fmt::format("{}: a group of one has no other rank to receive from", verb));
  }
  validate_tag(verb, recv.tag, true);
  has_memory(verb, "out", recv.out);
}

}  // namespace rondo::backend
