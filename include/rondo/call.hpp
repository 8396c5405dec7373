#pragma once
/// A collective or a message, as data. Deadlines, checks, failure and text are written once, for all of them.
/// Users call Group's methods; backends take these.

#include <span>
#include <string>
#include <variant>

#include "rondo/export.hpp"
#include "rondo/view.hpp"

namespace RONDO_EXPORT rondo {

/// Wildcards of receives and probes.
inline constexpr int any_source = -1;
inline constexpr int any_tag = -1;

/// What a message says of itself.
struct MessageInfo {
  int source = -1;
  int tag = 0;
  DType dtype = DType::uint8;
  Shape shape;
  std::size_t bytes = 0;
};

// In every call: n is the group's size, "rows" are slices along axis 0, counts of v forms are rows per rank
// and equal on all ranks. `in` and `out` must not overlap, but where noted: they may be the same memory, or
// the one may be this rank's part of the other.

struct AllReduce {  // out: as many elements as in; may be the same memory
  ConstView in;
  View out;
  ReduceOp op;
};
struct AllGather {  // out: n x in, in rank order; in may be this rank's part of out
  ConstView in;
  View out;
};
struct AllGatherV {  // in: counts[rank] rows, out: sum(counts) rows; in may be this rank's part of out
  ConstView in;
  View out;
  std::span<const std::size_t> counts;
};
struct ReduceScatter {  // in: n x out, out: this rank's part of the reduction
  ConstView in;
  View out;
  ReduceOp op;
};
struct ReduceScatterV {  // in: sum(counts) rows, out: counts[rank] rows
  ConstView in;
  View out;
  ReduceOp op;
  std::span<const std::size_t> counts;
};
struct Broadcast {  // the root's elements replace everybody's
  View data;
  int root;
};
struct Reduce {  // out is written on the root only; may be the same memory as in
  ConstView in;
  View out;
  ReduceOp op;
  int root;
};
struct Gather {  // out: n x in, on the root only; in may be this rank's part of out
  ConstView in;
  View out;
  int root;
};
struct GatherV {
  ConstView in;
  View out;
  std::span<const std::size_t> counts;
  int root;
};
struct Scatter {  // in: n x out, on the root only; out may be this rank's part of in
  ConstView in;
  View out;
  int root;
};
struct ScatterV {
  ConstView in;
  View out;
  std::span<const std::size_t> counts;
  int root;
};
struct AllToAll {  // part d of in goes to rank d; part s of out comes from rank s; n equal parts
  ConstView in;
  View out;
};
struct AllToAllV {  // the same with send_counts[d] and recv_counts[s] rows; counts may differ between ranks
  ConstView in;
  View out;
  std::span<const std::size_t> send_counts;
  std::span<const std::size_t> recv_counts;
};
struct Barrier {};

struct Send {
  ConstView data;
  int to;
  int tag = 0;
};
struct Recv {  // shape and dtype of `out` must be those of the message
  View out;
  int from;
  int tag = 0;
  MessageInfo* info = nullptr;  ///< filled when the message has arrived
};

using Collective = std::variant<AllReduce, AllGather, AllGatherV, ReduceScatter, ReduceScatterV, Broadcast,
                                Reduce, Gather, GatherV, Scatter, ScatterV, AllToAll, AllToAllV, Barrier>;

/// One transfer of a batch.
using Message = std::variant<Send, Recv>;

}  // namespace rondo
