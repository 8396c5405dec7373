#pragma once
/// Group: ranks that work together. Methods act now, on the caller's memory, on the caller's thread.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/call.hpp"
#include "rondo/config.hpp"
#include "rondo/error.hpp"
#include "rondo/export.hpp"
#include "rondo/tensor.hpp"
#include "rondo/view.hpp"

namespace rondo::backend {
class GroupBackend;
class Operation;
}  // namespace rondo::backend

namespace RONDO_EXPORT rondo {

/// Trailing options of message calls.
struct MessageOptions {
  int tag = 0;                           ///< 0 and up; receives and probes also take any_tag
  std::optional<Duration> timeout = {};  ///< instead of the group's limit
};

/// Trailing options of collectives.
struct CollectiveOptions {
  std::optional<Duration> timeout = {};  ///< instead of the group's limit
  std::string_view name = {};            ///< compared between ranks; appears in errors
};

/// A message on its way (isend, irecv, batch). The buffer belongs to the transfer until wait() returns or
/// throws, or the Request is gone. Dropping a Request waits for it within its limit, then cancels it. Not for
/// two threads at once.
class [[nodiscard]] Request {
 public:
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;
  ~Request();

  /// True when wait() would not block. Moves what can be moved.
  bool test();
  /// Waits; throws what the call would have thrown. The limit (the call's timeout) counts from here.
  void wait();
  void wait(Duration timeout);
  /// Takes the transfer back: after this the buffer is the caller's again. A transfer that had begun is
  /// finished from a private copy, or drained to nowhere; a message that its receiver has had by then stays
  /// received.
  void cancel();

 private:
  friend class Group;
  Request(std::unique_ptr<backend::Operation> operation, Duration timeout, Tensor keep_alive);
  void drop() noexcept;

  std::unique_ptr<backend::Operation> operation_;
  Duration timeout_;
  Tensor keep_alive_;
};

/// Who sends how many rows to whom, exchanged once and used often.
class ExchangePlan {
 public:
  std::span<const std::size_t> send_counts() const noexcept { return send_; }
  std::span<const std::size_t> recv_counts() const noexcept { return recv_; }
  /// The way back: what was received is sent to where it came from. Needs no exchange.
  ExchangePlan reverse() const { return ExchangePlan(recv_, send_); }

 private:
  friend class Group;
  ExchangePlan(std::vector<std::size_t> send, std::vector<std::size_t> recv)
      : send_(std::move(send)), recv_(std::move(recv)) {}

  std::vector<std::size_t> send_;
  std::vector<std::size_t> recv_;
};

/// A cheap shared handle to one rank's membership of a group.
///
/// Threads: all calls are safe from several threads. Collectives of one group run in the order in which this
/// rank issued them, one after the other; all ranks must issue the same ones in the same order. Messages of a
/// pair with one tag arrive in the order sent. A large isend moves only while its process is inside some call
/// of the group's ranks.
///
/// Limits: every blocking call has one absolute limit (Config::timeout, 60 s), for the whole call.
///
/// Failure: invalid_argument and unsupported leave the group as it was, as do mismatch and timed_out of a
/// single message. Everything else (any error inside a collective, a lost rank, abort) ends the group: every
/// later call on every rank throws the first cause at once; failure() tells it.
///
/// The last handle says goodbye to the other ranks: what was sent still arrives, calls that need this rank
/// fail.
class Group {
 public:
  int rank() const noexcept;
  int size() const noexcept;
  /// Rank and number of ranks among those on this host.
  int local_rank() const noexcept;
  int local_size() const noexcept;
  Backend backend() const noexcept;
  /// Why init(strict = false) gave a group of one; empty when this is what was asked for.
  const std::string& fallback_reason() const noexcept;
  /// What ended the group, if something did. Never blocks.
  std::optional<Failure> failure() const;

  /// The limit of calls that bring no timeout of their own.
  Duration timeout() const noexcept;
  void set_timeout(Duration limit);

  /// Collective: ranks with the same color form a group, ordered by key (missing or negative: by current
  /// rank), ties by current rank. A negative color joins none.
  std::optional<Group> split(int color, std::optional<int> key = {}) const;
  /// Collective over all ranks of this group: the listed ranks, in the order listed; std::nullopt on the
  /// others. Every rank passes the same list.
  std::optional<Group> subgroup(std::span<const int> ranks) const;
  std::optional<Group> subgroup(std::initializer_list<int> ranks) const {
    return subgroup(std::span(ranks.begin(), ranks.size()));
  }
  /// Ends the group on every rank: calls in progress throw `aborted` with this text. May be called from any
  /// thread.
  void abort(std::string_view reason) const;
  /// Says goodbye now: later calls through any handle fail. Idempotent.
  void shutdown() const;

  /// A tensor of zeros in memory that the collectives of this group, and of all groups of the same init, use
  /// best. Where ranks share a host's memory every rank reads it in place, without a copy on the way: when
  /// all ranks pass such tensors, most collectives of 64 KiB to some MiB take half the time or less
  /// (docs/performance.md). Elsewhere it is a tensor like any other. The memory is taken from the system at
  /// once and goes back with the last handle. Throws Error: invalid_argument (the shape), unavailable (not
  /// enough memory). Not collective.
  Tensor allocate(DType dtype, std::span<const std::int64_t> shape) const;
  Tensor allocate(DType dtype, std::initializer_list<std::int64_t> shape) const {
    return allocate(dtype, std::span(shape.begin(), shape.size()));
  }
  template <Element T>
  Tensor allocate(std::initializer_list<std::int64_t> shape) const {
    return allocate(dtype_of<T>, std::span(shape.begin(), shape.size()));
  }

  /// @name Messages
  /// @{

  /// Returns when the buffer may be reused; the message may still be on its way. Throws Error:
  /// invalid_argument (peer), mismatch (the receiver refused it, or an earlier message to the same rank),
  /// timed_out, disconnected, aborted.
  void send(ConstView data, int to, MessageOptions options = {}) const;
  /// A fresh tensor of exactly `shape`. Any zero extent, and a scalar, work.
  template <Element T>
  Tensor recv(std::span<const std::int64_t> shape, int from, MessageOptions options = {}) const {
    return recv(dtype_of<T>, shape, from, options);
  }
  template <Element T>
  Tensor recv(std::initializer_list<std::int64_t> shape, int from, MessageOptions options = {}) const {
    return recv(dtype_of<T>, std::span(shape.begin(), shape.size()), from, options);
  }
  Tensor recv(DType dtype, std::span<const std::int64_t> shape, int from, MessageOptions options = {}) const;
  /// Receives in place. `out` is untouched when a check fails or the message is of another size, dtype or
  /// shape.
  MessageInfo recv_into(View out, int from, MessageOptions options = {}) const;
  /// Waits for a message and tells what it is, without receiving it.
  MessageInfo probe(int from, MessageOptions options = {}) const;
  /// The same without waiting.
  std::optional<MessageInfo> try_probe(int from, int tag = 0) const;

  /// Both ways at once with one peer; shapes may differ.
  Tensor sendrecv(ConstView data, std::span<const std::int64_t> recv_shape, int peer,
                  MessageOptions options = {}) const;
  Tensor sendrecv(ConstView data, std::initializer_list<std::int64_t> recv_shape, int peer,
                  MessageOptions options = {}) const {
    return sendrecv(data, std::span(recv_shape.begin(), recv_shape.size()), peer, options);
  }
  /// Sends to one rank and receives from another: a ring shift.
  MessageInfo sendrecv(ConstView data, int to, View out, int from, MessageOptions options = {}) const;

  /// Starts a send. `data` must stay as it is until the request is done; a Tensor is kept alive.
  Request isend(ConstView data, int to, MessageOptions options = {}) const;
  Request isend(const Tensor& data, int to, MessageOptions options = {}) const;
  /// A temporary would be gone before it is sent.
  template <detail::ElementRange R>
  requires(!std::ranges::borrowed_range<R>) Request isend(R&& data, int to, MessageOptions options = {})
  const = delete;
  /// Starts a receive into `out`.
  Request irecv(View out, int from, MessageOptions options = {}) const;
  /// All of `messages` at once; their order does not matter between different peers and tags.
  void batch(std::span<const Message> messages, MessageOptions options = {}) const;
  void batch(std::initializer_list<Message> messages, MessageOptions options = {}) const {
    batch(std::span(messages.begin(), messages.size()), options);
  }
  /// @}
  /// @name Collectives
  /// Each has up to three forms: returning a fresh Tensor, from `in` to `out`, and in place. Ranks pass the
  /// same shapes, types and options (v forms say where they may differ); what differs is an Error(mismatch)
  /// on every rank.
  /// @{

  /// Element-wise reduction over all ranks; identical bytes on every rank.
  [[nodiscard]] Tensor all_reduce(const Tensor& in, ReduceOp op, CollectiveOptions options = {}) const;
  void all_reduce(ConstView in, View out, ReduceOp op, CollectiveOptions options = {}) const;
  void all_reduce(View in_out, ReduceOp op, CollectiveOptions options = {}) const;

  [[nodiscard]] Tensor all_sum(const Tensor& in, CollectiveOptions options = {}) const {
    return all_reduce(in, ReduceOp::sum, options);
  }
  void all_sum(ConstView in, View out, CollectiveOptions options = {}) const {
    all_reduce(in, out, ReduceOp::sum, options);
  }
  void all_sum(View in_out, CollectiveOptions options = {}) const {
    all_reduce(in_out, ReduceOp::sum, options);
  }
  [[nodiscard]] Tensor all_max(const Tensor& in, CollectiveOptions options = {}) const {
    return all_reduce(in, ReduceOp::max, options);
  }
  void all_max(ConstView in, View out, CollectiveOptions options = {}) const {
    all_reduce(in, out, ReduceOp::max, options);
  }
  void all_max(View in_out, CollectiveOptions options = {}) const {
    all_reduce(in_out, ReduceOp::max, options);
  }
  [[nodiscard]] Tensor all_min(const Tensor& in, CollectiveOptions options = {}) const {
    return all_reduce(in, ReduceOp::min, options);
  }
  void all_min(ConstView in, View out, CollectiveOptions options = {}) const {
    all_reduce(in, out, ReduceOp::min, options);
  }
  void all_min(View in_out, CollectiveOptions options = {}) const {
    all_reduce(in_out, ReduceOp::min, options);
  }

  /// Concatenation along axis 0 in rank order; a scalar gives a vector of size() (on a group of one it
  /// stays).
  [[nodiscard]] Tensor all_gather(const Tensor& in, CollectiveOptions options = {}) const;
  void all_gather(ConstView in, View out, CollectiveOptions options = {}) const;
  /// Rank r brings counts[r] rows; all ranks pass the same counts.
  [[nodiscard]] Tensor all_gather_v(const Tensor& in, std::span<const std::size_t> counts,
                                    CollectiveOptions options = {}) const;
  void all_gather_v(ConstView in, View out, std::span<const std::size_t> counts,
                    CollectiveOptions options = {}) const;

  /// Sum (or `op`) over the ranks, then equal chunks of axis 0: rank r keeps chunk r.
  [[nodiscard]] Tensor sum_scatter(const Tensor& in, CollectiveOptions options = {}) const {
    return reduce_scatter(in, ReduceOp::sum, options);
  }
  void sum_scatter(ConstView in, View out, CollectiveOptions options = {}) const {
    reduce_scatter(in, out, ReduceOp::sum, options);
  }
  [[nodiscard]] Tensor reduce_scatter(const Tensor& in, ReduceOp op, CollectiveOptions options = {}) const;
  void reduce_scatter(ConstView in, View out, ReduceOp op, CollectiveOptions options = {}) const;
  /// The same with counts[r] rows for rank r; all ranks pass the same counts.
  [[nodiscard]] Tensor sum_scatter_v(const Tensor& in, std::span<const std::size_t> counts,
                                     CollectiveOptions options = {}) const {
    return reduce_scatter_v(in, counts, ReduceOp::sum, options);
  }
  [[nodiscard]] Tensor reduce_scatter_v(const Tensor& in, std::span<const std::size_t> counts, ReduceOp op,
                                        CollectiveOptions options = {}) const;
  void reduce_scatter_v(ConstView in, View out, std::span<const std::size_t> counts, ReduceOp op,
                        CollectiveOptions options = {}) const;

  /// Part d of axis 0 (size() equal parts) goes to rank d; part s of the result comes from rank s.
  [[nodiscard]] Tensor all_to_all(const Tensor& in, CollectiveOptions options = {}) const;
  void all_to_all(ConstView in, View out, CollectiveOptions options = {}) const;
  /// Rows of axis 0: send_counts[d] rows go to rank d, recv_counts[s] come from rank s, both in rank order.
  [[nodiscard]] Tensor all_to_all_v(const Tensor& in, std::span<const std::size_t> send_counts,
                                    std::span<const std::size_t> recv_counts,
                                    CollectiveOptions options = {}) const;
  void all_to_all_v(ConstView in, View out, std::span<const std::size_t> send_counts,
                    std::span<const std::size_t> recv_counts, CollectiveOptions options = {}) const;
  [[nodiscard]] Tensor all_to_all_v(const Tensor& in, const ExchangePlan& plan,
                                    CollectiveOptions options = {}) const;
  void all_to_all_v(ConstView in, View out, const ExchangePlan& plan, CollectiveOptions options = {}) const;
  /// Collective: exchanges the counts, so that only the sender needs to know them.
  ExchangePlan plan_all_to_all_v(std::span<const std::size_t> send_counts,
                                 CollectiveOptions options = {}) const;

  /// The root's elements on every rank. The tensor given elsewhere tells shape and dtype.
  [[nodiscard]] Tensor broadcast(const Tensor& data, int root, CollectiveOptions options = {}) const;
  void broadcast(View data, int root, CollectiveOptions options = {}) const;
  /// A byte string of any length, known on the root only.
  [[nodiscard]] std::string broadcast_bytes(std::string_view bytes, int root,
                                            CollectiveOptions options = {}) const;

  /// The reduction on the root, an empty optional elsewhere.
  [[nodiscard]] std::optional<Tensor> reduce(const Tensor& in, ReduceOp op, int root,
                                             CollectiveOptions options = {}) const;
  /// `out` is used on the root only; other ranks may pass an empty view.
  void reduce(ConstView in, View out, ReduceOp op, int root, CollectiveOptions options = {}) const;
  /// All parts in rank order on the root, an empty optional elsewhere.
  [[nodiscard]] std::optional<Tensor> gather(const Tensor& in, int root,
                                             CollectiveOptions options = {}) const;
  void gather(ConstView in, View out, int root, CollectiveOptions options = {}) const;
  [[nodiscard]] std::optional<Tensor> gather_v(const Tensor& in, std::span<const std::size_t> counts,
                                               int root, CollectiveOptions options = {}) const;
  void gather_v(ConstView in, View out, std::span<const std::size_t> counts, int root,
                CollectiveOptions options = {}) const;
  /// Part r of the root's `in` to rank r, into `out`; `in` is used on the root only.
  void scatter(ConstView in, View out, int root, CollectiveOptions options = {}) const;
  void scatter_v(ConstView in, View out, std::span<const std::size_t> counts, int root,
                 CollectiveOptions options = {}) const;

  /// Returns when every rank has called it. A timeout names every rank that had not.
  void barrier(CollectiveOptions options = {}) const;
  /// @}
  explicit Group(std::shared_ptr<backend::GroupBackend> impl);  ///< for rondo's own rooms

 private:
  friend bool operator==(const Group& a, const Group& b) noexcept { return a.impl_ == b.impl_; }
  std::shared_ptr<backend::GroupBackend> impl_;
};

/// "Group { backend: shm, rank: 0, size: 4 }".
std::ostream& operator<<(std::ostream& out, const Group& group);
std::string to_string(const Group& group);

/// Whether `backend` is built in and loadable here; says nothing about peers. `any`: whether one is.
bool is_available(Backend backend);
/// Why not; empty when it is available.
std::string unavailable_reason(Backend backend);

/// Joins the job that the environment describes. strict: throws Error(unavailable) that names what is
/// missing. Otherwise a group of one that can say why (fallback_reason()). Initialised backends are cached:
/// the same handle again.
Group init(bool strict = false, Backend backend = Backend::any);
/// The same from settings in hand; strict, and not cached.
Group init(const Config& config);

/// How ranks meet where they have a way already (MPI, a store, a launcher of their own): takes this rank's
/// bytes and returns those of every rank, by rank. The bytes are a few hundred at most, any of them may be
/// zero, and they must come back unchanged.
using Exchange = std::function<std::vector<std::string>(const std::string& mine)>;
/// Joins ranks that meet over `exchange` instead of Config::rendezvous, which here only names the job. Takes
/// its place from Config::rank and Config::size; strict, and not cached. `exchange` is called twice, on this
/// thread, on every rank; its time counts against Config::init_timeout, which does not interrupt it. What it
/// throws comes out as it is. Throws Error(invalid_argument) for blobs of a wrong number, rank, exchange or
/// length.
Group init(const Config& config, const Exchange& exchange);

/// `size` ranks inside this process, for threads of the caller's own, on the real clock: handle r is rank r.
/// Handles may be moved to any thread.
std::vector<Group> sim_group(int size, const Config& config = {});

/// Runs `rank_main` once per rank, each on a thread of its own of which only one runs at a time; the next is
/// drawn from `seed`, so a run with the same seed is the same run. Time is virtual: when no rank can run, the
/// clock jumps to the nearest limit, so a deadlock ends as an error at once. Throws the first exception of a
/// rank after all have ended; an exception in one rank ends the groups that it is in.
void sim_run(int size, std::uint64_t seed, const std::function<void(Group)>& rank_main,
             const Config& config = {});

}  // namespace rondo
