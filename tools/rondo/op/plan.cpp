#include "op/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>

namespace rondo::tools::op {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::runtime_error(text); }

std::string describe(const Brought& one) {
  return fmt::format("{} {}", to_string(one.dtype), rondo::to_string(one.shape));
}

/// Reads the facts, which are the same on every rank, for one rank.
class Planner {
 public:
  Planner(const OpOptions& options, const std::vector<Brought>& brought, int rank)
      : options_(options), brought_(brought), rank_(rank), n_(brought.size()) {}

  Plan plan() {
    first_ = &brought_[static_cast<std::size_t>(brings_input(options_, 0) ? 0 : options_.root)];
    out_.dtype = first_->dtype;
    out_.shape = first_->shape;
    switch (options_.kind) {
      case OpKind::all_reduce:
      case OpKind::reduce:
        same_shape();
        [[fallthrough]];
      case OpKind::broadcast:
      case OpKind::sendrecv:
        whole();
        break;
      case OpKind::all_gather:
      case OpKind::gather:
        same_shape();
        [[fallthrough]];
      case OpKind::all_gather_v:
      case OpKind::gather_v:
        joined();
        break;
      case OpKind::reduce_scatter:
      case OpKind::reduce_scatter_v:
        same_shape();
        [[fallthrough]];
      case OpKind::scatter:
      case OpKind::scatter_v:
        parted();
        break;
      case OpKind::all_to_all:
        same_shape();
        exchanged(std::vector<Counts>(n_, equal_rows()));
        break;
      case OpKind::all_to_all_v:
        exchanged(rows_to_send());
        break;
      case OpKind::barrier:
        break;
    }
    if (!brings_input(options_, rank_)) out_.in.clear();
    if (!gets_result(options_, rank_)) out_.out.clear();
    return out_;
  }

 private:
  std::string name(std::size_t rank) const {
    return file_name(options_.input, static_cast<int>(rank), static_cast<int>(n_));
  }

  void same_shape() const {
    for (std::size_t r = 1; r < n_; ++r) {
      if (brought_[r].dtype == first_->dtype && brought_[r].shape == first_->shape) continue;
      differ(r, "type and shape");
    }
  }
  // All but the number of rows.
  void same_rows() const {
    for (std::size_t r = 0; r < n_; ++r) {
      if (brought_[r].shape.empty())
        refuse(fmt::format("{}: {} is a scalar, which has no rows", options_.name, name(r)));
      const bool same =
          brought_[r].dtype == first_->dtype &&
          std::ranges::equal(std::span(brought_[r].shape).subspan(1), std::span(first_->shape).subspan(1));
      if (!same) differ(r, "type, and shape but for the number of rows");
    }
  }
  [[noreturn]] void differ(std::size_t rank, std::string_view expected) const {
    refuse(fmt::format("{}: {} on rank {} is {}, {} on rank 0 is {}; expected the same {}", options_.name,
                       name(rank), rank, describe(brought_[rank]), name(0), describe(*first_), expected));
  }

  std::size_t row_elements() const { return element_count(std::span(first_->shape).subspan(1)); }
  Counts in_elements(const Counts& rows) const {
    const std::size_t row = row_elements();
    Counts elements(rows);
    for (std::size_t& count : elements) count *= row;  // parts of arrays that were counted: no overflow
    return elements;
  }

  // One part on either side: element by element.
  void whole() {
    const std::size_t count = element_count(first_->shape);
    out_.in = out_.out = {count};
    out_.longest = count;
  }

  void joined() {
    const bool uneven = options_.kind == OpKind::all_gather_v || options_.kind == OpKind::gather_v;
    if (uneven) same_rows();
    for (const Brought& each : brought_) out_.out.push_back(element_count(each.shape));
    out_.shares = out_.out;
    out_.in = {out_.out[static_cast<std::size_t>(rank_)]};
    out_.longest = std::ranges::max(out_.out);
    if (first_->shape.empty()) {
      if (n_ > 1) out_.shape = {static_cast<std::int64_t>(n_)};  // alone, the scalar stays, as in the library
      return;
    }
    out_.shape[0] = 0;
    for (const Brought& each : brought_) {
      if (__builtin_add_overflow(out_.shape[0], each.shape[0], &out_.shape[0]))
        refuse(fmt::format("{}: all rows together are more than can be counted", options_.name));
    }
  }

  Counts equal_rows() const {
    if (first_->shape.empty())
      refuse(fmt::format("{}: {} is a scalar, which has no rows", options_.name, name(0)));
    const auto rows = static_cast<std::size_t>(first_->shape[0]);
    if (rows % n_ != 0)
      refuse(fmt::format("{}: {} rows do not divide into {} equal parts", options_.name, rows, n_));
    return Counts(n_, rows / n_);
  }

  void check_sum(const Counts& rows, const Brought& one, std::size_t rank) const {
    if (one.shape.empty())
      refuse(fmt::format("{}: {} is a scalar, which has no rows", options_.name, name(rank)));
    std::size_t sum = 0;
    bool overflow = false;
    for (const std::size_t count : rows) overflow = __builtin_add_overflow(sum, count, &sum) || overflow;
    if (!overflow && sum == static_cast<std::size_t>(one.shape[0])) return;
    refuse(fmt::format("{}: {} has {} rows, the counts are {}, together {}", options_.name, name(rank),
                       one.shape[0], fmt::join(rows, ","),
                       overflow ? "more than can be counted" : std::to_string(sum)));
  }

  void parted() {
    const bool uneven = options_.kind == OpKind::scatter_v || options_.kind == OpKind::reduce_scatter_v;
    if (uneven) check_sum(options_.counts, *first_, static_cast<std::size_t>(options_.root));
    const Counts rows = uneven ? options_.counts : equal_rows();
    const auto self = static_cast<std::size_t>(rank_);
    out_.in = in_elements(rows);
    out_.shares = out_.in;
    out_.out = {out_.in[self]};
    out_.longest = std::ranges::max(out_.in);
    out_.shape[0] = static_cast<std::int64_t>(rows[self]);
  }

  // send[a][b]: rows from rank a to rank b.
  std::vector<Counts> rows_to_send() const {
    same_rows();
    std::vector<Counts> send;
    for (std::size_t r = 0; r < n_; ++r) {
      send.push_back(options_.send_counts[options_.send_counts.size() == 1 ? 0 : r]);
      check_sum(send[r], brought_[r], r);
    }
    return send;
  }
  void exchanged(const std::vector<Counts>& send) {
    const auto self = static_cast<std::size_t>(rank_);
    Counts received;
    std::size_t longest = 0;
    for (const Counts& from : send) {
      received.push_back(from[self]);
      longest = std::max(longest, std::ranges::max(from));
    }
    std::int64_t rows = 0;
    for (const std::size_t count : received) {
      if (__builtin_add_overflow(rows, static_cast<std::int64_t>(count), &rows))
        refuse(fmt::format("{}: all rows together are more than can be counted", options_.name));
    }
    out_.in = in_elements(send[self]);
    out_.out = in_elements(received);
    out_.longest = longest * row_elements();
    out_.shape[0] = rows;
  }

  const OpOptions& options_;
  const std::vector<Brought>& brought_;
  int rank_;
  std::size_t n_;
  const Brought* first_ = nullptr;
  Plan out_;
};

// Each rank's words on the wire: whether it has a file, its type, its axes, their extents.
constexpr std::size_t words = 3 + max_dims;
using Record = std::array<std::int64_t, words>;

}  // namespace

bool brings_input(const OpOptions& options, int rank) noexcept {
  switch (options.kind) {
    case OpKind::broadcast:
    case OpKind::scatter:
    case OpKind::scatter_v:
    case OpKind::sendrecv:
      return rank == options.root;
    case OpKind::barrier:
      return false;
    case OpKind::all_reduce:
    case OpKind::reduce:
    case OpKind::all_gather:
    case OpKind::all_gather_v:
    case OpKind::gather:
    case OpKind::gather_v:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_v:
    case OpKind::all_to_all:
    case OpKind::all_to_all_v:
      return true;
  }
  return false;
}

bool gets_result(const OpOptions& options, int rank) noexcept {
  switch (options.kind) {
    case OpKind::reduce:
    case OpKind::gather:
    case OpKind::gather_v:
      return rank == options.root;
    case OpKind::sendrecv:
      return rank == options.to;
    case OpKind::barrier:
      return false;
    case OpKind::all_reduce:
    case OpKind::all_gather:
    case OpKind::all_gather_v:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_v:
    case OpKind::broadcast:
    case OpKind::scatter:
    case OpKind::scatter_v:
    case OpKind::all_to_all:
    case OpKind::all_to_all_v:
      return true;
  }
  return false;
}

bool writes_output(const OpOptions& options, int rank) noexcept {
  if (!gets_result(options, rank)) return false;
  if (names_each_rank(options.output) || options.kind == OpKind::sendrecv) return true;
  return rank == options.root;  // 0 where there is no root
}

void check_size(const OpOptions& options, int size) {
  const auto is_rank = [&](std::string_view option, int rank) {
    if (rank < 0 || rank >= size)
      throw UsageError(
          fmt::format("{}: {} {} is not a rank of a group of {}", options.name, option, rank, size));
  };
  const bool pair = options.kind == OpKind::sendrecv;
  is_rank(pair ? "--from" : "--root", options.root);
  is_rank("--to", options.to);
  if (pair && options.root == options.to)
    throw UsageError(fmt::format("sendrecv: --from and --to are both {}; expected two ranks", options.to));
  const auto n = static_cast<std::size_t>(size);
  const auto counted = [&](std::string_view option, const Counts& counts) {
    if (counts.size() != n)
      throw UsageError(fmt::format("{}: {} has {} numbers, expected one for each of {} ranks", options.name,
                                   option, counts.size(), size));
  };
  if (options.kind == OpKind::scatter_v || options.kind == OpKind::reduce_scatter_v)
    counted("--counts", options.counts);
  for (const Counts& counts : options.send_counts) counted("--send-counts", counts);
  if (options.send_counts.size() > 1 && options.send_counts.size() != n)
    throw UsageError(fmt::format("{}: --send-counts has {} lists, expected one, or one for each of {} ranks",
                                 options.name, options.send_counts.size(), size));
  const bool parts = options.kind == OpKind::reduce_scatter || options.kind == OpKind::reduce_scatter_v ||
                     options.kind == OpKind::scatter || options.kind == OpKind::scatter_v ||
                     options.kind == OpKind::all_to_all || options.kind == OpKind::all_to_all_v;
  if (parts && size > 1 && !names_each_rank(options.output))
    throw UsageError(
        fmt::format("{}: every rank has a result of its own, so -o needs {{rank}} in its name, got \"{}\"",
                    options.name, options.output));
}

std::vector<Brought> meet(const Group& group, const std::optional<NpyHeader>& header) {
  const auto n = static_cast<std::size_t>(group.size());
  Record own{};
  if (header) {
    own = {1, static_cast<std::int64_t>(header->dtype), static_cast<std::int64_t>(header->shape.size())};
    std::ranges::copy(header->shape, own.begin() + 3);
  }
  std::vector<std::int64_t> all(n * words);
  group.all_gather(own, all);
  std::vector<Brought> brought(n);
  for (std::size_t r = 0; r < n; ++r) {
    const std::span<const std::int64_t> record = std::span(all).subspan(r * words, words);
    brought[r].file = record[0] == 1;
    brought[r].dtype = static_cast<DType>(record[1]);
    const auto axes =
        record.subspan(3, static_cast<std::size_t>(std::clamp<std::int64_t>(record[2], 0, max_dims)));
    brought[r].shape.assign(axes.begin(), axes.end());
  }
  return brought;
}

Plan make_plan(const OpOptions& options, const std::vector<Brought>& brought, int rank) {
  for (std::size_t r = 0; r < brought.size(); ++r) {
    if (brought[r].file != brings_input(options, static_cast<int>(r)))
      refuse(fmt::format("{}: rank {} was started with another operation or root", options.name, r));
  }
  return Planner(options, brought, rank).plan();
}

}  // namespace rondo::tools::op
