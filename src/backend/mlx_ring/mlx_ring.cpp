#include "backend/mlx_ring/mlx_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backend/mlx_ring/arithmetic.hpp"
#include "backend/mlx_ring/wire.hpp"
#include "tensor/reduce.hpp"

namespace rondo::backend {

namespace {

using base::Deadline;
using base::Problem;
using Batch = mlx::Wire::Batch;
using mlx::Combine;
using mlx::Side;
using mlx::Transfer;
using mlx::Wire;

// Numbers of MLX 0.32's rings, which decide which byte goes over which connection.
constexpr std::size_t channel_bytes = 262144;  // least bytes of a channel (per rank, of a reduction)
constexpr std::size_t scratch_bytes = 1024;    // room for one element per rank
constexpr std::size_t message_part = 1024;     // least bytes of a message on one connection

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Channels of an operation that has `bytes` to move, of two per cable.
std::size_t channels_for(std::size_t bytes, std::size_t least, int cables) {
  return std::clamp<std::size_t>(bytes / least, 1, 2 * static_cast<std::size_t>(cables));
}

// Even channels run to the left (they send to the left neighbour), odd ones to the right.
struct Channel {
  int cable;
  int step;  // from a segment to the one that is received while it is sent
  Side to;
  Side from;
};
Channel channel(std::size_t number) {
  const int cable = static_cast<int>(number / 2);
  if (number % 2 == 0) return {cable, 1, Side::left, Side::right};
  return {cable, -1, Side::right, Side::left};
}

struct Piece {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// `steps` times: send a piece, receive the next, which is the one to send then. The first `combined` of what
/// comes is combined.
void run_channel(Batch& batch, const Wire& wire, Channel way, const std::vector<Piece>& pieces, int steps,
                 int combined, const Combine* combine, std::size_t element) {
  const int n = wire.size();
  const auto at = [&](int s) { return pieces[static_cast<std::size_t>(((s % n) + n) % n)]; };
  int s = wire.rank();
  const Transfer* before = nullptr;
  for (int i = 0; i < steps; ++i, s += way.step) {
    const Piece out = at(s);
    const Piece in = at(s + way.step);
    batch.send(way.to, way.cable, {out.data, out.bytes, before});
    before = batch.recv(way.from, way.cable,
                        {in.data, in.bytes, nullptr, i < combined ? combine : nullptr, element});
  }
}

void pass(Batch& batch, const Wire& wire, Channel way, std::byte* data, std::size_t count,
          std::size_t element, const Combine& combine) {
  const auto n = static_cast<std::size_t>(wire.size());
  const std::size_t segment = ceil_div(count, n);
  std::vector<Piece> pieces;
  for (std::size_t s = 0; s < n; ++s) {
    const std::size_t begin = std::min(s * segment, count);
    const std::size_t end = std::min((s + 1) * segment, count);
    pieces.push_back({data + begin * element, (end - begin) * element});
  }
  run_channel(batch, wire, way, pieces, 2 * (wire.size() - 1), wire.size() - 1, &combine, element);
}

/// A request that moves bytes when it is looked at.
class Request final : public Operation {
 public:
  using Explain = std::function<Error(const Problem&, Duration)>;

  Request(Wire& wire, std::shared_ptr<GroupBackend> keep, Deadline& deadline, Explain explain)
      : keep_(std::move(keep)),
        batch_(std::make_unique<Batch>(wire, deadline)),
        explain_(std::move(explain)) {}
  Batch& batch() noexcept { return *batch_; }

  bool test() override {
    if (!batch_) return true;
    try {
      return batch_->test();
    } catch (const Problem&) {
      return true;  // wait tells
    }
  }
  void wait(Duration limit) override {
    if (!batch_) return;
    Deadline deadline(base::real_scheduler(), limit);
    try {
      batch_->wait(deadline);
    } catch (const Problem& problem) {
      throw explain_(problem, deadline.elapsed());
    }
  }
  void cancel() noexcept override { batch_.reset(); }

 private:
  std::shared_ptr<GroupBackend> keep_;  // and with it the wire
  std::unique_ptr<Batch> batch_;
  Explain explain_;
};

class MlxRing final : public GroupBackend {
 public:
  MlxRing(Identity identity, Duration timeout, std::shared_ptr<Wire> wire)
      : GroupBackend(std::move(identity), base::real_scheduler(), timeout), wire_(std::move(wire)) {}
  ~MlxRing() override { close(); }

  std::optional<Failure> failure() const override { return wire_->failure(); }

 private:
  void check_call(const Collective& call) const override;
  void perform(const Task& task) override;
  void perform(const Send& message, Deadline& deadline) override {
    perform_all(std::array<Message, 1>{message}, deadline, "send");
  }
  void perform(const Recv& message, Deadline& deadline) override {
    perform_all(std::array<Message, 1>{message}, deadline, "recv");
  }
  void perform(std::span<const Message> messages, Deadline& deadline) override {
    perform_all(messages, deadline, "batch");
  }
  std::unique_ptr<Operation> begin(const Message& message, std::string_view verb) override;
  MessageInfo wait_for_message(int, int, Deadline&) override {
    impossible("probe", "nothing on the wire says what comes");
  }
  std::optional<MessageInfo> look_for_message(int, int) override {
    impossible("try_probe", "nothing on the wire says what comes");
  }
  std::shared_ptr<GroupBackend> make_sub(std::span<const int> members, std::uint64_t, int) override;
  void fail(const Failure& cause) override { wire_->fail(cause); }
  bool failed() const noexcept override { return wire_->failed(); }
  void close() noexcept override {
    if (!left_.exchange(true) && wire_.use_count() == 1) wire_->close();
  }

  [[noreturn]] void impossible(std::string_view verb, const std::string& why) const;
  void check_message(std::string_view verb, const Message& message) const;
  void add(Batch& batch, const Message& message);
  void perform_all(std::span<const Message> messages, Deadline& deadline, std::string_view verb);
  void told(const Message& message) const;

  void all_reduce(std::byte* data, std::size_t count, DType dtype, ReduceOp op, Deadline& deadline);
  void all_reduce_checked(std::string_view verb, const ConstView& in, std::byte* out, ReduceOp op,
                          Deadline& deadline);
  void all_gather(const std::byte* in, std::size_t bytes, std::byte* out, Deadline& deadline);
  void gather_v(const ConstView& in, std::span<const std::size_t> counts, std::byte* out, Deadline& deadline);
  void broadcast(std::byte* data, std::size_t bytes, std::size_t element, int root, Deadline& deadline);

  const std::shared_ptr<Wire> wire_;
  std::atomic<bool> left_{false};
};

void MlxRing::impossible(std::string_view verb, const std::string& why) const {
  throw Error(ErrorKind::unsupported,
              fmt::format("{}: {}, so a ring on the wire of MLX cannot do it; RONDO_RING_WIRE=rondo can "
                          "(rank {} of {}, ring)",
                          verb, why, seat().rank, seat().size),
              {std::string(verb), seat().rank, -1, {}});
}

// ---- collectives -----------------------------------------------------------------------------------------

// What MLX reduces and rondo does not is looked at as a type of the same size that both do.
void MlxRing::check_call(const Collective& call) const {
  std::visit(
      [&]<class C>(C c) {
        if constexpr (requires { c.op; }) {
          const DType dtype = c.in.dtype();
          if (!supported(c.op, dtype) && mlx::reduces(dtype, c.op) && c.out.dtype() == dtype) {
            const DType same = dtype == DType::bool_ ? DType::uint8 : DType::uint64;
            c.in = ConstView(same, c.in.data(), c.in.shape(), c.in.strides());
            c.out = View(same, c.out.data(), c.out.shape(), c.out.strides());
          }
        }
        validate(c, seat());
      },
      call);
}

void MlxRing::all_reduce(std::byte* data, std::size_t count, DType dtype, ReduceOp op, Deadline& deadline) {
  const auto n = static_cast<std::size_t>(seat().size);
  const std::size_t element = size_of(dtype);
  const Combine combine = mlx::combine(dtype, op);
  Batch batch(*wire_, deadline);
  if (count < n) {
    std::vector<std::byte> padded(n * element);
    if (count > 0) std::memcpy(padded.data(), data, count * element);
    pass(batch, *wire_, channel(1), padded.data(), n, element, combine);
    batch.finish(deadline);
    if (count > 0) std::memcpy(data, padded.data(), count * element);
    return;
  }
  const std::size_t channels = channels_for(count * element, n * channel_bytes, wire_->cables());
  const std::size_t step = ceil_div(count, channels);
  for (std::size_t i = 0; i < channels && i * step < count; ++i)
    pass(batch, *wire_, channel(i), data + i * step * element, std::min(step, count - i * step), element,
         combine);
  batch.finish(deadline);
}

void MlxRing::all_reduce_checked(std::string_view verb, const ConstView& in, std::byte* out, ReduceOp op,
                                 Deadline& deadline) {
  const ReduceOp sent = op == ReduceOp::mean ? ReduceOp::sum : op;
  if (!mlx::reduces(in.dtype(), sent))
    impossible(verb, fmt::format("MLX has no {} of {} in its rings", to_string(op), to_string(in.dtype())));
  const auto n = static_cast<std::size_t>(seat().size);
  if (in.count() < n && n * size_of(in.dtype()) > scratch_bytes) {
    impossible(verb, fmt::format("MLX has no room for {} elements of {} on {} ranks", in.count(),
                                 to_string(in.dtype()), n));
  }
  if (out != in.data() && in.count() > 0) std::memcpy(out, in.data(), in.bytes());
  all_reduce(out, in.count(), in.dtype(), sent, deadline);
  if (op == ReduceOp::mean) tensor::divide(in.dtype(), out, out, in.count(), n);
}

void MlxRing::all_gather(const std::byte* in, std::size_t bytes, std::byte* out, Deadline& deadline) {
  if (bytes == 0) return;
  const auto n = static_cast<std::size_t>(seat().size);
  std::byte* const own = out + static_cast<std::size_t>(seat().rank) * bytes;
  if (own != in) std::memcpy(own, in, bytes);
  Batch batch(*wire_, deadline);
  const std::size_t channels = channels_for(bytes, channel_bytes, wire_->cables());
  const std::size_t part = ceil_div(bytes, channels);
  for (std::size_t i = 0; i < channels && i * part < bytes; ++i) {
    std::vector<Piece> pieces;
    for (std::size_t s = 0; s < n; ++s)
      pieces.push_back({out + s * bytes + i * part, std::min(part, bytes - i * part)});
    run_channel(batch, *wire_, channel(i), pieces, seat().size - 1, 0, nullptr, 1);
  }
  batch.finish(deadline);
}

// Uneven parts travel in blocks of the largest.
void MlxRing::gather_v(const ConstView& in, std::span<const std::size_t> counts, std::byte* out,
                       Deadline& deadline) {
  const auto rank = static_cast<std::size_t>(seat().rank);
  const std::size_t most = *std::ranges::max_element(counts);
  if (most == 0) return;
  // A rank without rows does not know their size by its count alone, but its shape says it.
  const std::size_t row = row_elements(in.shape()) * size_of(in.dtype());
  std::vector<std::byte> own(most * row);
  if (in.bytes() > 0) std::memcpy(own.data(), in.data(), counts[rank] * row);
  std::vector<std::byte> all(own.size() * counts.size());
  all_gather(own.data(), own.size(), all.data(), deadline);
  if (out == nullptr) return;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    if (counts[s] > 0) std::memmove(out, all.data() + s * own.size(), counts[s] * row);
    out += counts[s] * row;
  }
}

// A sum to which all others add zeros, as whole numbers of the element's size, so that every bit survives. An
// MLX process takes part with all_sum of zeros of the same type.
void MlxRing::broadcast(std::byte* data, std::size_t bytes, std::size_t element, int root,
                        Deadline& deadline) {
  if (seat().rank != root && bytes > 0) std::memset(data, 0, bytes);
  const DType whole = element == 1   ? DType::uint8
                      : element == 2 ? DType::uint16
                      : element == 4 ? DType::uint32
                                     : DType::uint64;
  all_reduce(data, bytes / size_of(whole), whole, ReduceOp::sum, deadline);
}

void MlxRing::perform(const Task& task) {
  const std::string_view verb = name_of(task.call);
  const auto n = static_cast<std::size_t>(seat().size);
  const auto rank = static_cast<std::size_t>(seat().rank);
  Deadline& deadline = task.deadline;
  struct Visitor {
    MlxRing& ring;
    std::string_view verb;
    std::size_t n;
    std::size_t rank;
    Deadline& deadline;

    void operator()(const AllReduce& c) const {
      ring.all_reduce_checked(verb, c.in, c.out.data(), c.op, deadline);
    }
    void operator()(const Reduce& c) const {
      std::vector<std::byte> all(c.in.bytes());
      ring.all_reduce_checked(verb, c.in, all.data(), c.op, deadline);
      if (ring.seat().rank == c.root && !all.empty()) std::memcpy(c.out.data(), all.data(), all.size());
    }
    void operator()(const ReduceScatter& c) const {
      std::vector<std::byte> all(c.in.bytes());
      ring.all_reduce_checked(verb, c.in, all.data(), c.op, deadline);
      if (c.out.bytes() > 0) std::memcpy(c.out.data(), all.data() + rank * c.out.bytes(), c.out.bytes());
    }
    void operator()(const ReduceScatterV& c) const {
      std::vector<std::byte> all(c.in.bytes());
      ring.all_reduce_checked(verb, c.in, all.data(), c.op, deadline);
      const std::size_t before =
          std::accumulate(c.counts.begin(), c.counts.begin() + ring.seat().rank, std::size_t{0});
      const std::size_t row = row_elements(c.in.shape()) * size_of(c.in.dtype());
      if (c.out.bytes() > 0) std::memcpy(c.out.data(), all.data() + before * row, c.out.bytes());
    }
    void operator()(const AllGather& c) const {
      ring.all_gather(c.in.data(), c.in.bytes(), c.out.data(), deadline);
    }
    void operator()(const AllGatherV& c) const { ring.gather_v(c.in, c.counts, c.out.data(), deadline); }
    void operator()(const Gather& c) const {
      if (ring.seat().rank == c.root) {
        ring.all_gather(c.in.data(), c.in.bytes(), c.out.data(), deadline);
        return;
      }
      std::vector<std::byte> all(n * c.in.bytes());
      ring.all_gather(c.in.data(), c.in.bytes(), all.data(), deadline);
    }
    void operator()(const GatherV& c) const {
      ring.gather_v(c.in, c.counts, ring.seat().rank == c.root ? c.out.data() : nullptr, deadline);
    }
    void operator()(const Broadcast& c) const {
      ring.broadcast(c.data.data(), c.data.bytes(), size_of(c.data.dtype()), c.root, deadline);
    }
    void operator()(const Scatter& c) const {
      std::vector<std::byte> all(n * c.out.bytes());
      if (ring.seat().rank == c.root && !all.empty()) std::memcpy(all.data(), c.in.data(), all.size());
      ring.broadcast(all.data(), all.size(), size_of(c.out.dtype()), c.root, deadline);
      if (c.out.bytes() > 0 && !all.empty())
        std::memcpy(c.out.data(), all.data() + rank * c.out.bytes(), c.out.bytes());
    }
    void operator()(const ScatterV& c) const {
      const std::size_t row = row_elements(c.out.shape()) * size_of(c.out.dtype());
      const std::size_t rows = std::accumulate(c.counts.begin(), c.counts.end(), std::size_t{0});
      const std::size_t before =
          std::accumulate(c.counts.begin(), c.counts.begin() + ring.seat().rank, std::size_t{0});
      std::vector<std::byte> all(rows * row);
      if (ring.seat().rank == c.root && !all.empty()) std::memcpy(all.data(), c.in.data(), all.size());
      ring.broadcast(all.data(), all.size(), size_of(c.out.dtype()), c.root, deadline);
      if (c.out.bytes() > 0) std::memcpy(c.out.data(), all.data() + before * row, c.out.bytes());
    }
    void operator()(const AllToAll& c) const {
      std::vector<std::byte> all(n * c.in.bytes());
      ring.all_gather(c.in.data(), c.in.bytes(), all.data(), deadline);
      const std::size_t part = c.in.bytes() / n;
      for (std::size_t s = 0; s < n && part > 0; ++s)
        std::memcpy(c.out.data() + s * part, all.data() + s * c.in.bytes() + rank * part, part);
    }
    void operator()(const AllToAllV&) const {
      ring.impossible(verb, "only neighbours reach each other, and no rank knows the counts of all");
    }
    void operator()(const Barrier&) const {
      std::int32_t one = 1;
      ring.all_reduce(reinterpret_cast<std::byte*>(&one), 1, DType::int32, ReduceOp::sum, deadline);
    }
  };
  std::visit(Visitor{*this, verb, n, rank, deadline}, task.call);
}

// ---- messages --------------------------------------------------------------------------------------------

void MlxRing::check_message(std::string_view verb, const Message& message) const {
  std::visit(
      [&]<class M>(const M& m) {
        int peer = 0;
        if constexpr (std::is_same_v<M, Send>)
          peer = m.to;
        else
          peer = m.from;
        if (peer == any_source && seat().size > 2)
          impossible(verb, "a message says nothing of itself, not even where it comes from");
        const bool near = peer == any_source || peer == wire_->neighbour(Side::left) ||
                          peer == wire_->neighbour(Side::right);
        if (!near) {
          impossible(verb, fmt::format("rank {} is not a neighbour (those are {} and {})", peer,
                                       wire_->neighbour(Side::left), wire_->neighbour(Side::right)));
        }
        if (m.tag != 0 && m.tag != any_tag)
          impossible(verb, fmt::format("messages carry no tag ({})", m.tag));
      },
      message);
}

// Of two ranks each is both neighbours of the other: they send to the right and receive from the left.
void MlxRing::add(Batch& batch, const Message& message) {
  std::visit(
      [&]<class M>(const M& m) {
        std::byte* data = nullptr;
        std::size_t bytes = 0;
        Side side = Side::right;
        if constexpr (std::is_same_v<M, Send>) {
          data = const_cast<std::byte*>(m.data.data());  // only read
          bytes = m.data.bytes();
          side = m.to == wire_->neighbour(Side::right) ? Side::right : Side::left;
        } else {
          data = m.out.data();
          bytes = m.out.bytes();
          side = m.from == any_source || m.from == wire_->neighbour(Side::left) ? Side::left : Side::right;
        }
        const auto cables = static_cast<std::size_t>(wire_->cables());
        const std::size_t part = std::max(message_part, ceil_div(bytes, cables));
        for (std::size_t k = 0; k < cables && k * part < bytes; ++k) {
          const Transfer one{data + k * part, std::min(part, bytes - k * part)};
          if constexpr (std::is_same_v<M, Send>)
            batch.send(side, static_cast<int>(k), one);
          else
            batch.recv(side, static_cast<int>(k), one);
        }
      },
      message);
}

void MlxRing::told(const Message& message) const {
  const Recv* recv = std::get_if<Recv>(&message);
  if (recv == nullptr || recv->info == nullptr) return;
  recv->info->source = recv->from == any_source ? wire_->neighbour(Side::left) : recv->from;
  recv->info->tag = 0;
  recv->info->dtype = recv->out.dtype();
  recv->info->shape = Shape(recv->out.shape().begin(), recv->out.shape().end());
  recv->info->bytes = recv->out.bytes();
}

// Strided memory goes through a copy.
void MlxRing::perform_all(std::span<const Message> messages, Deadline& deadline, std::string_view verb) {
  for (const Message& each : messages) {
    check_message(verb, each);
    const bool gapless = std::visit(
        []<class M>(const M& m) {
          if constexpr (std::is_same_v<M, Send>)
            return m.data.contiguous();
          else
            return m.out.contiguous();
        },
        each);
    if (!gapless) impossible(verb, "its memory has gaps");
  }
  Batch batch(*wire_, deadline);
  for (const Message& each : messages) add(batch, each);
  batch.finish(deadline);
  for (const Message& each : messages) told(each);
}

std::unique_ptr<Operation> MlxRing::begin(const Message& message, std::string_view verb) {
  check_message(verb, message);
  Deadline deadline(scheduler(), timeout());
  auto request =
      std::make_unique<Request>(*wire_, shared_from_this(), deadline,
                                [this, verb = std::string(verb)](const Problem& problem, Duration elapsed) {
                                  return explain(problem, verb, 0, elapsed);
                                });
  add(request->batch(), message);
  request->batch().release();
  (void)request->test();
  told(message);
  return request;
}

// ---- groups ----------------------------------------------------------------------------------------------

std::shared_ptr<GroupBackend> MlxRing::make_sub(std::span<const int> members, std::uint64_t, int) {
  if (members.size() == 1) {
    Identity alone;
    alone.kind = identity().kind;
    return std::make_shared<MlxRing>(std::move(alone), timeout(), std::make_shared<Wire>());
  }
  bool same = static_cast<int>(members.size()) == seat().size;
  for (std::size_t i = 0; same && i < members.size(); ++i) same = members[i] == static_cast<int>(i);
  if (!same) impossible("split", "the ranks of another group would need connections that this ring lacks");
  return std::make_shared<MlxRing>(identity(), timeout(), wire_);
}

}  // namespace

std::shared_ptr<GroupBackend> join_mlx_ring(const rendezvous::Hostfile& file, int rank, const Config& config,
                                            Deadline& deadline) {
  rendezvous::check_ring(file, rank);
  auto wire = file.size() == 1 ? std::make_shared<Wire>() : std::make_shared<Wire>(file, rank, deadline);
  Identity identity;
  identity.kind = Backend::ring;
  identity.seat = {rank, file.size()};
  identity.local_rank = wire->place_here();
  identity.local_size = wire->ranks_here();
  return std::make_shared<MlxRing>(std::move(identity), config.timeout, std::move(wire));
}

}  // namespace rondo::backend
