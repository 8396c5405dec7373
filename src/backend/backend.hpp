#pragma once
/// What carries a group: the seam that solo, mesh and the native libraries implement, and the one place
/// around every call that validates, orders, limits, explains and ends groups.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/call.hpp"
#include "backend/order.hpp"
#include "base/deadline.hpp"
#include "base/problem.hpp"
#include "rondo/call.hpp"
#include "rondo/config.hpp"
#include "rondo/error.hpp"

namespace rondo::backend {

class GroupBackend;

/// A message on its way. Destruction cancels what is not over.
class Operation {
 public:
  virtual ~Operation() = default;
  /// True when wait would not block.
  virtual bool test() = 0;
  /// Waits at most `limit`; throws Error.
  virtual void wait(Duration limit) = 0;
  /// Takes the transfer back; afterwards its memory is not touched.
  virtual void cancel() noexcept = 0;
};

/// A collective in its place: what an implementation needs to run it.
struct Task {
  const Collective& call;  ///< validated; every view gapless
  Verb verb;               ///< differs from the call's own for split and plan, which travel as other calls
  std::uint64_t number;
  std::uint64_t digest;  ///< of the caller's name and of the counts of v forms
  base::Deadline& deadline;
};

/// Names one rank's place, and how to reach it.
struct Identity {
  Backend kind = Backend::any;
  Seat seat{0, 1};
  int local_rank = 0;
  int local_size = 1;
  std::string fallback_reason;
};

class GroupBackend : public std::enable_shared_from_this<GroupBackend> {
 public:
  GroupBackend(Identity identity, base::Scheduler& scheduler, Duration timeout);
  virtual ~GroupBackend() = default;
  GroupBackend(const GroupBackend&) = delete;
  GroupBackend& operator=(const GroupBackend&) = delete;

  const Identity& identity() const noexcept { return identity_; }
  Seat seat() const noexcept { return identity_.seat; }
  Duration timeout() const noexcept { return Duration(timeout_.load(std::memory_order_relaxed)); }
  void set_timeout(Duration limit);

  // ---- the calls: any thread; throw Error only
  // ------------------------------------------------------------------------
  void run(const Collective& call, std::optional<Duration> timeout, std::string_view name);
  void send(const Send& message, std::optional<Duration> timeout);
  void recv(const Recv& message, std::optional<Duration> timeout, std::string_view verb = "recv");
  void batch(std::span<const Message> messages, std::optional<Duration> timeout, std::string_view verb);
  std::unique_ptr<Operation> start(const Message& message, std::string_view verb);
  MessageInfo probe(int from, int tag, std::optional<Duration> timeout);
  std::optional<MessageInfo> try_probe(int from, int tag);
  /// The counts that every rank sends here.
  std::vector<std::size_t> exchange_counts(std::span<const std::size_t> send_counts,
                                           std::optional<Duration> timeout, std::string_view name);
  /// The new group, or nullptr when the color is negative.
  std::shared_ptr<GroupBackend> split(int color, std::optional<int> key);
  std::shared_ptr<GroupBackend> subgroup(std::span<const int> ranks);
  void abort(std::string_view reason);
  void shutdown();
  /// `then` runs at the first shutdown, before the goodbye.
  void when_shut_down(std::function<void()> then) { at_shutdown_ = std::move(then); }
  virtual std::optional<Failure> failure() const = 0;
  /// Zeroed memory that suits the group's collectives best, or nullptr where any does as well.
  std::shared_ptr<std::byte> allocate(std::size_t bytes);
  /// Throws the first cause when the group has ended, and when it was shut down here.
  void check_open(std::string_view verb) const;
  /// The checks of a message and of a peer ("dst_rank", "src_rank", "peer"), for calls that allocate before
  /// they start.
  void check(std::string_view verb, const Message& message) const;
  void check_peer(std::string_view verb, std::string_view side, int peer) const;
  /// What `make` returns; its errors tell who called. After check_open.
  Shape shape_for(std::string_view verb, const std::function<Shape(Seat)>& make) const;

  /// The error of this group for a problem met in `verb`; for the implementations.
  Error explain(const base::Problem& problem, std::string_view verb, std::uint64_t number,
                Duration elapsed) const;
  base::Scheduler& scheduler() const noexcept { return scheduler_; }

 protected:
  // ---- for implementations; called for groups of more than one
  // ---------------------------------------------------------- They throw base::Problem. A Problem inside
  // perform ends the group.
  virtual void perform(const Task& task) = 0;
  /// The checks of a collective; where a library's own rules hold, its own. Throws Error.
  virtual void check_call(const Collective& call) const { validate(call, seat()); }
  virtual void perform(const Send& message, base::Deadline& deadline) = 0;
  virtual void perform(const Recv& message, base::Deadline& deadline) = 0;
  virtual void perform(std::span<const Message> messages, base::Deadline& deadline) = 0;
  virtual std::unique_ptr<Operation> begin(const Message& message, std::string_view verb) = 0;
  virtual MessageInfo wait_for_message(int from, int tag, base::Deadline& deadline) = 0;
  virtual std::optional<MessageInfo> look_for_message(int from, int tag) = 0;
  virtual std::shared_ptr<std::byte> memory_for_tensors(std::size_t bytes) {
    static_cast<void>(bytes);
    return nullptr;
  }
  /// Wires among `members` (ranks of this group in the new order); `number` and `color` make the new group's
  /// name. Throws Problem.
  virtual std::shared_ptr<GroupBackend> make_sub(std::span<const int> members, std::uint64_t number,
                                                 int color) = 0;

  // ---- also for groups of one
  // -----------------------------------------------------------------------------------------
  /// Ends the group everywhere with this cause, unless it has ended.
  virtual void fail(const Failure& cause) = 0;
  virtual bool failed() const noexcept = 0;
  /// Goodbye; once.
  virtual void close() noexcept = 0;

 private:
  /// Ends the group with what went wrong inside a collective, and throws the first cause of its end.
  [[noreturn]] void end_with(const base::Problem& problem, std::string_view verb, std::uint64_t number,
                             Duration elapsed);
  struct Membership;

  std::string place(std::string_view verb, std::uint64_t number) const;
  Error wrong(const Error& cause, std::string_view verb) const;
  template <class Check>
  void checked(std::string_view verb, Check check) const;
  template <class Work>
  void guarded(std::string_view verb, base::Deadline& deadline, Work work);
  std::uint64_t ordered(const Collective& call, Verb verb, std::string_view name, base::Deadline& deadline);
  std::shared_ptr<GroupBackend> regroup(const Membership& mine);

  const Identity identity_;
  base::Scheduler& scheduler_;
  std::atomic<std::int64_t> timeout_;
  std::atomic<bool> closed_{false};
  std::function<void()> at_shutdown_;
  Order order_;
};

/// Runs a collective of a group of one: the result is the input.
void run_alone(const Collective& call);

}  // namespace rondo::backend
