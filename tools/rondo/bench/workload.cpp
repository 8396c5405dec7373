#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>

namespace rondo::tools::bench {

namespace {

constexpr std::size_t most_window = 64;
constexpr std::size_t most_window_bytes = std::size_t{64} << 20;

struct Counts {
  std::size_t in;
  std::size_t out;
};

// Elements that this rank gives and gets.
Counts counts_of(const Case& what, int rank, std::size_t ranks, std::size_t window) {
  const std::size_t count = what.count;
  const bool root = rank == what.root;
  switch (what.verb) {
    case BenchVerb::all_reduce:
      return {count, count};
    case BenchVerb::reduce:
      return {count, root ? count : 0};
    case BenchVerb::all_gather:
      return {count, ranks * count};
    case BenchVerb::reduce_scatter:
      return {ranks * count, count};
    case BenchVerb::all_to_all:
      return {ranks * count, ranks * count};
    case BenchVerb::broadcast:
      return {count, count};
    case BenchVerb::gather:
      return {count, root ? ranks * count : 0};
    case BenchVerb::scatter:
      return {root ? ranks * count : 0, count};
    case BenchVerb::barrier:
      return {0, 0};
    case BenchVerb::sendrecv:
      return {count, count};
    case BenchVerb::latency:
      return {count, rank < 2 ? count : 0};
    case BenchVerb::bandwidth:
      return {count, rank == 1 ? window * count : 0};
  }
  return {0, 0};
}

View part_of(const View& whole, std::size_t first, std::size_t count) {
  return {whole.dtype(), whole.data() + first * size_of(whole.dtype()), count};
}

std::size_t window_for(const Case& what) {
  if (what.verb != BenchVerb::bandwidth) return 1;
  const std::size_t bytes = std::max<std::size_t>(1, what.count * size_of(what.dtype));
  return std::clamp<std::size_t>(most_window_bytes / bytes, 1, most_window);
}

}  // namespace

Workload::Workload(const Group& group, const Case& what)
    : group_(group),
      case_(what),
      window_(window_for(what)),
      in_(what.dtype, nullptr, std::size_t{0}),
      out_(what.dtype, nullptr, std::size_t{0}) {
  const auto rank = static_cast<std::size_t>(group.rank());
  const Counts counts = counts_of(what, group.rank(), static_cast<std::size_t>(group.size()), window_);
  const auto allocate = [&](std::size_t count) {
    const std::initializer_list<std::int64_t> shape{static_cast<std::int64_t>(count)};
    try {
      memory_.push_back(what.shared ? group.allocate(what.dtype, shape) : Tensor(what.dtype, shape));
    } catch (const std::bad_alloc&) {
      throw std::runtime_error(fmt::format("rank {} has no memory for {} elements of {}; -e bounds the size",
                                           group.rank(), count, to_string(what.dtype)));
    }
    return memory_.back().view();
  };
  const bool shares = what.in_place || what.verb == BenchVerb::broadcast;
  if (!shares || counts.in == 0 || counts.out == 0) {
    in_ = allocate(counts.in);
    out_ = allocate(counts.out);
  } else if (counts.in == counts.out) {
    in_ = out_ = allocate(counts.out);
  } else if (counts.in < counts.out) {  // all_gather; gather on the root
    out_ = allocate(counts.out);
    in_ = part_of(out_, rank * what.count, counts.in);
  } else {  // scatter on the root
    in_ = allocate(counts.in);
    out_ = part_of(in_, rank * what.count, counts.out);
  }
}

std::size_t Workload::operations() const noexcept { return case_.verb == BenchVerb::latency ? 2 : window_; }

void Workload::call() {
  const int ranks = group_.size();
  const int rank = group_.rank();
  switch (case_.verb) {
    case BenchVerb::all_reduce:
      return group_.all_reduce(in_, out_, case_.op);
    case BenchVerb::reduce:
      return group_.reduce(in_, out_, case_.op, case_.root);
    case BenchVerb::all_gather:
      return group_.all_gather(in_, out_);
    case BenchVerb::reduce_scatter:
      return group_.reduce_scatter(in_, out_, case_.op);
    case BenchVerb::all_to_all:
      return group_.all_to_all(in_, out_);
    case BenchVerb::broadcast:
      return group_.broadcast(out_, case_.root);
    case BenchVerb::gather:
      return group_.gather(in_, out_, case_.root);
    case BenchVerb::scatter:
      return group_.scatter(in_, out_, case_.root);
    case BenchVerb::barrier:
      return group_.barrier();
    case BenchVerb::sendrecv:
      (void)group_.sendrecv(in_, (rank + 1) % ranks, out_, (rank + ranks - 1) % ranks);
      return;
    case BenchVerb::latency:
      return ping_pong();
    case BenchVerb::bandwidth:
      return send_window();
  }
}

void Workload::ping_pong() {
  if (group_.rank() == 0) {
    group_.send(in_, 1);
    (void)group_.recv_into(out_, 1);
  } else if (group_.rank() == 1) {
    (void)group_.recv_into(out_, 0);
    group_.send(in_, 0);
  }
}

void Workload::send_window() {
  constexpr int answer_tag = 1;
  std::array<std::uint8_t, 4> answer{};
  std::vector<Request> requests;
  requests.reserve(window_);
  if (group_.rank() == 0) {
    for (std::size_t i = 0; i < window_; ++i) requests.push_back(group_.isend(in_, 1));
    for (Request& each : requests) each.wait();
    (void)group_.recv_into(answer, 1, {.tag = answer_tag});
  } else if (group_.rank() == 1) {
    for (std::size_t i = 0; i < window_; ++i)
      requests.push_back(group_.irecv(part_of(out_, i * case_.count, case_.count), 0));
    for (Request& each : requests) each.wait();
    group_.send(answer, 0, {.tag = answer_tag});
  }
}

void Workload::prepare() {
  fill_poison(out_);
  fill_input();
}

void Workload::fill_input() {
  const Reduction reduction{case_.op, group_.size()};
  if (info_of(case_.verb).reduces)
    fill_contribution(in_, reduction, group_.rank(), 0);
  else if (case_.verb != BenchVerb::broadcast || at_root())
    fill_moved(in_, group_.rank(), 0);
}

void Workload::fill_expected(const View& out) const {
  const std::size_t count = case_.count;
  const std::size_t mine = static_cast<std::size_t>(group_.rank()) * count;
  const Reduction reduction{case_.op, group_.size()};
  // Part i of the result, from rank `from(i)` at position `first`.
  const auto parts = [&](std::size_t first, auto from) {
    for (std::size_t i = 0; (i + 1) * count <= out.count(); ++i)
      fill_moved(part_of(out, i * count, count), from(static_cast<int>(i)), first);
  };
  switch (case_.verb) {
    case BenchVerb::all_reduce:
    case BenchVerb::reduce:
      return fill_reduced(out, reduction, 0);
    case BenchVerb::reduce_scatter:
      return fill_reduced(out, reduction, mine);
    case BenchVerb::all_gather:
    case BenchVerb::gather:
      return parts(0, [](int i) { return i; });
    case BenchVerb::all_to_all:
      return parts(mine, [](int i) { return i; });
    case BenchVerb::broadcast:
      return parts(0, [&](int) { return case_.root; });
    case BenchVerb::scatter:
      return parts(mine, [&](int) { return case_.root; });
    case BenchVerb::barrier:
      return;
    case BenchVerb::sendrecv:
      return parts(0, [&](int) { return (group_.rank() + group_.size() - 1) % group_.size(); });
    case BenchVerb::latency:
      return parts(0, [&](int) { return 1 - group_.rank(); });
    case BenchVerb::bandwidth:
      return parts(0, [](int) { return 0; });
  }
}

std::size_t Workload::wrong() {
  if (out_.count() == 0) return 0;
  Tensor expected(case_.dtype, {static_cast<std::int64_t>(out_.count())});
  fill_expected(expected.view());
  return count_wrong(out_, expected.view());
}

}  // namespace rondo::tools::bench
