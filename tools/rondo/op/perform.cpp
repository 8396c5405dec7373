#include "op/perform.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "op/files.hpp"
#include "op/pieces.hpp"
#include "op/plan.hpp"
#include "op/progress.hpp"

namespace rondo::tools::op {

namespace {

// Ranks wait for each other's disks here: as long as that may take, and not as long as a call.
constexpr CollectiveOptions for_disks = {.timeout = std::chrono::hours(1)};

/// The calls of one operation, piece by piece.
class Performer {
 public:
  Performer(const Group& group, const OpOptions& options, const Plan& plan, std::size_t step, Source source,
            Sink sink)
      : group_(group),
        options_(options),
        shares_(plan.dtype, plan.shares, step),
        source_(std::move(source)),
        sink_(std::move(sink)) {}

  /// Bytes of this rank that moved, or were given room.
  std::size_t piece(std::size_t k) {
    call(k);
    source_.settle(k);
    sink_.settle(k);
    return std::max(source_.pieces().bytes(k), sink_.pieces().bytes(k));
  }

 private:
  void call(std::size_t k) {
    const int root = options_.root;
    switch (options_.kind) {
      case OpKind::all_reduce:
        group_.all_reduce(source_.piece(k), sink_.piece(k), options_.op);
        return;
      case OpKind::reduce:
        group_.reduce(source_.piece(k), sink_.piece(k), options_.op, root);
        return;
      case OpKind::all_gather:
        group_.all_gather(source_.piece(k), sink_.piece(k));
        return;
      case OpKind::all_gather_v:
        group_.all_gather_v(source_.piece(k), sink_.piece(k), shares_.counts(k));
        return;
      case OpKind::gather:
        group_.gather(source_.piece(k), sink_.piece(k), root);
        return;
      case OpKind::gather_v:
        group_.gather_v(source_.piece(k), sink_.piece(k), shares_.counts(k), root);
        return;
      case OpKind::reduce_scatter:
        group_.reduce_scatter(source_.piece(k), sink_.piece(k), options_.op);
        return;
      case OpKind::reduce_scatter_v:
        group_.reduce_scatter_v(source_.piece(k), sink_.piece(k), shares_.counts(k), options_.op);
        return;
      case OpKind::broadcast:
        broadcast(k);
        return;
      case OpKind::scatter:
        group_.scatter(source_.piece(k), sink_.piece(k), root);
        return;
      case OpKind::scatter_v:
        group_.scatter_v(source_.piece(k), sink_.piece(k), shares_.counts(k), root);
        return;
      case OpKind::all_to_all:
        group_.all_to_all(source_.piece(k), sink_.piece(k));
        return;
      case OpKind::all_to_all_v:
        group_.all_to_all_v(source_.piece(k), sink_.piece(k), source_.pieces().counts(k),
                            sink_.pieces().counts(k));
        return;
      case OpKind::sendrecv:
        if (group_.rank() == root) group_.send(source_.piece(k), options_.to);
        if (group_.rank() == options_.to) group_.recv_into(sink_.piece(k), root);
        return;
      case OpKind::barrier:
        group_.barrier();
        return;
    }
  }

  // The library's broadcast is in place, and the root's file is not to be written to.
  void broadcast(std::size_t k) {
    const View data = sink_.piece(k);
    if (group_.rank() == options_.root && data.bytes() > 0)
      std::memcpy(data.data(), source_.piece(k).data(), data.bytes());
    group_.broadcast(data, options_.root);
  }

  const Group& group_;
  const OpOptions& options_;
  Pieces shares_;
  Source source_;
  Sink sink_;
};

bool in_parts(OpKind kind) {
  switch (kind) {
    case OpKind::all_reduce:
    case OpKind::reduce:
    case OpKind::broadcast:
    case OpKind::sendrecv:
    case OpKind::barrier:
      return false;
    case OpKind::all_gather:
    case OpKind::all_gather_v:
    case OpKind::gather:
    case OpKind::gather_v:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_v:
    case OpKind::scatter:
    case OpKind::scatter_v:
    case OpKind::all_to_all:
    case OpKind::all_to_all_v:
      return true;
  }
  return false;
}

Progress::How how_to_tell(const Group& group, const OpOptions& options) {
  if (group.rank() != 0) return Progress::How::silent;
  if (isatty(STDERR_FILENO) == 1) return Progress::How::in_place;
  return options.progress ? Progress::How::lines : Progress::How::silent;
}

// Elements of a part in one piece; the same on every rank.
std::size_t step_of(const Group& group, const OpOptions& options, DType dtype) {
  const std::size_t parts = in_parts(options.kind) ? static_cast<std::size_t>(group.size()) : 1;
  return std::max<std::size_t>(1, options.piece / (parts * size_of(dtype)));
}

}  // namespace

void perform(const Group& group, const OpOptions& options, Temporaries& temporaries) {
  check_size(options, group.size());
  if (options.kind == OpKind::barrier) return group.barrier();
  std::optional<Input> input;
  if (brings_input(options, group.rank()))
    input.emplace(file_name(options.input, group.rank(), group.size()));
  const auto brought = meet(group, input ? std::optional(input->header()) : std::nullopt);
  const Plan plan = make_plan(options, brought, group.rank());
  std::optional<Output> output;
  if (writes_output(options, group.rank())) {
    output.emplace(temporaries, file_name(options.output, group.rank(), group.size()), plan.dtype,
                   plan.shape);
  }
  group.barrier(for_disks);  // making room for a large file takes its time on some file systems
  const std::size_t step = step_of(group, options, plan.dtype);
  Performer performer(group, options, plan, step,
                      Source(Pieces(plan.dtype, plan.in, step), input ? &*input : nullptr),
                      Sink(Pieces(plan.dtype, plan.out, step), output ? &*output : nullptr));
  const std::size_t pieces = piece_count(plan.longest, step);
  {
    Progress progress(how_to_tell(group, options), options.name, pieces);
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < pieces; ++k) {
      bytes += performer.piece(k);
      progress.tell(k + 1, bytes);
    }
  }
  if (output) output->sync();
  group.barrier(for_disks);
  if (output) output->commit();
}

}  // namespace rondo::tools::op
