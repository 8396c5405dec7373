#include "backend/mesh/collectives.hpp"

#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/check.hpp"
#include "collective/algorithms.hpp"
#include "collective/partition.hpp"
#include "collective/select.hpp"
#include "tensor/reduce.hpp"

namespace rondo::backend {

namespace {

using collective::Algorithm;
using collective::Bytes;
using collective::ConstBytes;
using collective::Counts;
using collective::Reduction;
using transport::CollectiveChannel;
using transport::Stamp;

ConstBytes bytes_of(const ConstView& view) { return {view.data(), view.bytes()}; }
Bytes bytes_of(const View& view) { return {view.data(), view.bytes()}; }

Reduction reduction_of(DType dtype, ReduceOp op, int size) {
  return {tensor::reduce_kernel(dtype, op), dtype, size_of(dtype),
          op == ReduceOp::mean ? static_cast<std::size_t>(size) : 0};
}

std::size_t total(Counts counts) { return std::accumulate(counts.begin(), counts.end(), std::size_t{0}); }

// Elements in a row of a v form, from the side that has rows; every rank with a row finds the same.
std::size_t row_of(const ConstView& part, std::size_t rows) { return rows > 0 ? part.count() / rows : 0; }

std::vector<std::size_t> scaled(Counts counts, std::size_t factor) {
  std::vector<std::size_t> out(counts.begin(), counts.end());
  for (std::size_t& each : out) each *= factor;
  return out;
}

std::vector<std::size_t> equal(int size, std::size_t each) {
  return std::vector<std::size_t>(static_cast<std::size_t>(size), each);
}

// What all ranks must agree on. Counts are those that every rank knows: v forms carry their counts in the
// digest instead.
class StampOf {
 public:
  StampOf(const Task& task, Stamp& stamp) : stamp_(stamp) {
    stamp.number = task.number;
    stamp.verb = task.verb;
    stamp.name_hash = task.digest;
  }
  void operator()(const AllReduce& c) { set(c.in, c.in.count(), c.op); }
  void operator()(const AllGather& c) { set(c.in, c.in.count()); }
  void operator()(const AllGatherV& c) { set(c.in, c.out.count()); }
  void operator()(const ReduceScatter& c) { set(c.in, c.in.count(), c.op); }
  void operator()(const ReduceScatterV& c) { set(c.in, c.in.count(), c.op); }
  void operator()(const Broadcast& c) { set(c.data, c.data.count(), ReduceOp::sum, c.root); }
  void operator()(const Reduce& c) { set(c.in, c.in.count(), c.op, c.root); }
  void operator()(const Gather& c) { set(c.in, c.in.count(), ReduceOp::sum, c.root); }
  void operator()(const GatherV& c) { set(c.in, total(c.counts), ReduceOp::sum, c.root); }
  void operator()(const Scatter& c) { set(c.out, c.out.count(), ReduceOp::sum, c.root); }
  void operator()(const ScatterV& c) { set(c.out, total(c.counts), ReduceOp::sum, c.root); }
  void operator()(const AllToAll& c) { set(c.in, c.in.count()); }
  void operator()(const AllToAllV& c) { set(c.in, row_elements(c.in.shape())); }
  void operator()(const Barrier&) {}

 private:
  void set(const ConstView& view, std::size_t count, ReduceOp op = ReduceOp::sum, int root = -1) {
    stamp_.dtype = view.dtype();
    stamp_.count = count;
    stamp_.op = op;
    stamp_.root = root;
  }
  Stamp& stamp_;
};

[[noreturn]] void no_such_algorithm() {
  base::broken_invariant("the selection table names an algorithm that the collective has", __FILE__,
                         __LINE__);
}

class Runner {
 public:
  Runner(const Task& task, Seat seat, CollectiveChannel& channel, std::span<const collective::Row> table)
      : task_(task), seat_(seat), channel_(channel), table_(table) {}

  void operator()(const AllReduce& c) {
    const Reduction reduction = reduction_of(c.in.dtype(), c.op, seat_.size);
    const ConstBytes in = bytes_of(c.in);
    const Bytes out = bytes_of(c.out);
    switch (choose(in.size(), tensor::combines_once(c.in.dtype(), c.op))) {
      case Algorithm::ring:
        return collective::all_reduce_ring(channel_, in, out, reduction);
      case Algorithm::recursive_doubling:
        return collective::all_reduce_recursive_doubling(channel_, in, out, reduction);
      case Algorithm::one_shot:
        return collective::all_reduce_one_shot(channel_, in, out, reduction);
      case Algorithm::direct:
        return collective::all_reduce_direct(channel_, in, out, reduction);
      case Algorithm::flat:
        return collective::all_reduce_flat(channel_, in, out, reduction);
      case Algorithm::binomial:
      case Algorithm::linear:
      case Algorithm::pairwise:
      case Algorithm::dissemination:
        no_such_algorithm();
    }
  }

  void operator()(const AllGather& c) { all_gather(c.in, c.out, equal(seat_.size, c.in.bytes())); }
  void operator()(const AllGatherV& c) {
    const std::size_t row = row_of(c.out, total(c.counts)) * size_of(c.in.dtype());
    all_gather(c.in, c.out, scaled(c.counts, row));
  }

  void operator()(const ReduceScatter& c) {
    reduce_scatter(c.in, c.out, c.op, equal(seat_.size, c.out.count()));
  }
  void operator()(const ReduceScatterV& c) {
    reduce_scatter(c.in, c.out, c.op, scaled(c.counts, row_of(c.in, total(c.counts))));
  }

  void operator()(const Broadcast& c) {
    switch (choose(c.data.bytes(), false)) {
      case Algorithm::binomial:
        return collective::broadcast_binomial(channel_, bytes_of(c.data), c.root);
      case Algorithm::flat:
        return collective::broadcast_flat(channel_, bytes_of(c.data), c.root);
      case Algorithm::ring:
      case Algorithm::recursive_doubling:
      case Algorithm::one_shot:
      case Algorithm::direct:
      case Algorithm::linear:
      case Algorithm::pairwise:
      case Algorithm::dissemination:
        no_such_algorithm();
    }
  }

  void operator()(const Reduce& c) {
    const Reduction reduction = reduction_of(c.in.dtype(), c.op, seat_.size);
    const Bytes out = seat_.rank == c.root ? bytes_of(c.out) : Bytes{};
    switch (choose(c.in.bytes(), tensor::combines_once(c.in.dtype(), c.op))) {
      case Algorithm::binomial:
        return collective::reduce_binomial(channel_, bytes_of(c.in), out, c.root, reduction);
      case Algorithm::direct:
        return collective::reduce_direct(channel_, bytes_of(c.in), out, c.root, reduction);
      case Algorithm::flat:
        return collective::reduce_flat(channel_, bytes_of(c.in), out, c.root, reduction);
      case Algorithm::ring:
      case Algorithm::recursive_doubling:
      case Algorithm::one_shot:
      case Algorithm::linear:
      case Algorithm::pairwise:
      case Algorithm::dissemination:
        no_such_algorithm();
    }
  }

  void operator()(const Gather& c) {
    if (choose(c.in.bytes(), false) == Algorithm::flat) {
      return collective::gather_flat(channel_, bytes_of(c.in),
                                     seat_.rank == c.root ? bytes_of(c.out) : Bytes{}, c.root);
    }
    gather(c.in, c.out, equal(seat_.size, c.in.bytes()), c.root);
  }
  void operator()(const GatherV& c) {
    const bool root = seat_.rank == c.root;
    const std::size_t own = c.counts[static_cast<std::size_t>(seat_.rank)];
    const std::size_t row = root ? row_of(c.out, total(c.counts)) : row_of(c.in, own);
    choose(0, false);
    gather(c.in, c.out, scaled(c.counts, row * size_of(c.in.dtype())), c.root);
  }

  void operator()(const Scatter& c) {
    if (choose(c.out.bytes(), false) == Algorithm::flat) {
      return collective::scatter_flat(channel_, seat_.rank == c.root ? bytes_of(c.in) : ConstBytes{},
                                      bytes_of(c.out), c.root);
    }
    scatter(c.in, c.out, equal(seat_.size, c.out.bytes()), c.root);
  }
  void operator()(const ScatterV& c) {
    const bool root = seat_.rank == c.root;
    const std::size_t own = c.counts[static_cast<std::size_t>(seat_.rank)];
    const std::size_t row = root ? row_of(c.in, total(c.counts)) : row_of(c.out, own);
    choose(0, false);
    scatter(c.in, c.out, scaled(c.counts, row * size_of(c.out.dtype())), c.root);
  }

  void operator()(const AllToAll& c) {
    const std::size_t part = c.in.bytes() / static_cast<std::size_t>(seat_.size);
    if (choose(c.in.bytes(), false) == Algorithm::flat) {
      return collective::all_to_all_flat(channel_, bytes_of(c.in), bytes_of(c.out), part);
    }
    const auto sizes = equal(seat_.size, part);
    all_to_all(c.in, c.out, sizes, sizes);
  }
  void operator()(const AllToAllV& c) {
    const std::size_t row = row_elements(c.in.shape()) * size_of(c.in.dtype());
    const auto sends = scaled(c.send_counts, row);
    const auto expects = scaled(c.recv_counts, row);
    channel_.exchange(sends, expects);
    choose(0, false);
    all_to_all(c.in, c.out, sends, expects);
  }

  void operator()(const Barrier&) {
    if (choose(0, false) == Algorithm::flat) return collective::barrier_flat(channel_);
    collective::barrier_dissemination(channel_);
  }

 private:
  // Selects, and where the ranks share memory but the algorithm does not use it, lets them meet first.
  Algorithm choose(std::size_t bytes, bool combines_once) {
    const transport::Verb verb = verb_of(task_.call);
    const Algorithm chosen =
        collective::select(table_, {verb, bytes, seat_.size, channel_.has_arena(), combines_once});
    if (channel_.has_arena() && chosen != Algorithm::flat) channel_.meet();
    return chosen;
  }

  void all_gather(const ConstView& in, const View& out, Counts sizes) {
    switch (choose(out.bytes(), false)) {
      case Algorithm::ring:
        return collective::all_gather_ring(channel_, bytes_of(in), bytes_of(out), sizes);
      case Algorithm::direct:
        return collective::all_gather_direct(channel_, bytes_of(in), bytes_of(out), sizes);
      case Algorithm::flat:
        return collective::all_gather_flat(channel_, bytes_of(in), bytes_of(out), sizes);
      case Algorithm::recursive_doubling:
      case Algorithm::one_shot:
      case Algorithm::binomial:
      case Algorithm::linear:
      case Algorithm::pairwise:
      case Algorithm::dissemination:
        no_such_algorithm();
    }
  }

  void reduce_scatter(const ConstView& in, const View& out, ReduceOp op, Counts counts) {
    const Reduction reduction = reduction_of(in.dtype(), op, seat_.size);
    switch (choose(in.bytes(), tensor::combines_once(in.dtype(), op))) {
      case Algorithm::ring:
        return collective::reduce_scatter_ring(channel_, bytes_of(in), bytes_of(out), counts, reduction);
      case Algorithm::direct:
        return collective::reduce_scatter_direct(channel_, bytes_of(in), bytes_of(out), counts, reduction);
      case Algorithm::flat:
        return collective::reduce_scatter_flat(channel_, bytes_of(in), bytes_of(out), counts, reduction);
      case Algorithm::recursive_doubling:
      case Algorithm::one_shot:
      case Algorithm::binomial:
      case Algorithm::linear:
      case Algorithm::pairwise:
      case Algorithm::dissemination:
        no_such_algorithm();
    }
  }

  void gather(const ConstView& in, const View& out, Counts sizes, int root) {
    collective::gather_linear(channel_, bytes_of(in), seat_.rank == root ? bytes_of(out) : Bytes{}, sizes,
                              root);
  }

  void scatter(const ConstView& in, const View& out, Counts sizes, int root) {
    collective::scatter_linear(channel_, seat_.rank == root ? bytes_of(in) : ConstBytes{}, bytes_of(out),
                               sizes, root);
  }

  void all_to_all(const ConstView& in, const View& out, Counts send, Counts recv) {
    collective::all_to_all_pairwise(channel_, bytes_of(in), bytes_of(out), send, recv);
  }

  const Task& task_;
  Seat seat_;
  CollectiveChannel& channel_;
  std::span<const collective::Row> table_;
};

// In which units sizes that differ are told.
std::size_t row_bytes_of(const Collective& call) {
  if (const auto* c = std::get_if<AllToAllV>(&call))
    return row_elements(c->in.shape()) * size_of(c->in.dtype());
  return 0;
}

}  // namespace

void run_collective(const Task& task, Seat seat, transport::CollectiveLane& lane,
                    std::span<const collective::Row> table, bool agree) {
  Stamp stamp;
  StampOf stamp_of(task, stamp);
  std::visit(stamp_of, task.call);
  const std::size_t row_bytes = row_bytes_of(task.call);
  CollectiveChannel channel(lane, stamp, task.deadline, row_bytes, row_bytes > 0 ? "rows" : "bytes");
  if (agree && !channel.has_arena()) channel.agree();
  Runner runner(task, seat, channel, table);
  std::visit(runner, task.call);
}

}  // namespace rondo::backend
