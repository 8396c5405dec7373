#include "backend/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "backend/gapless.hpp"
#include "tensor/layout.hpp"
#include "transport/header.hpp"

namespace rondo::backend {

namespace {

std::uint64_t hash_of(std::string_view text) noexcept {
  return transport::payload_hash(std::as_bytes(std::span(text.data(), text.size())));
}

// Of what ranks must agree on beyond a stamp's own fields; 0 when there is nothing.
std::uint64_t digest_of(const Collective& call, std::string_view name) {
  std::uint64_t digest = name.empty() ? 0 : hash_of(name);
  std::visit(
      [&](const auto& c) {
        if constexpr (requires { c.counts; }) {
          digest = std::rotl(digest, 1) ^ transport::payload_hash(std::as_bytes(c.counts));
        }
      },
      call);
  return digest;
}

}  // namespace

GroupBackend::GroupBackend(Identity identity, base::Scheduler& scheduler, Duration timeout)
    : identity_(std::move(identity)), scheduler_(scheduler), timeout_(timeout.count()), order_(scheduler) {}

void GroupBackend::set_timeout(Duration limit) {
  if (limit <= Duration::zero()) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("set_timeout: {} ns, expected more than 0", limit.count()),
                {"set_timeout", seat().rank, -1, {}});
  }
  timeout_.store(limit.count(), std::memory_order_relaxed);
}

// ---- words -----------------------------------------------------------------------------------------------

// "all_sum #12 on rank 3 of 8 (sim)".
std::string GroupBackend::place(std::string_view verb, std::uint64_t number) const {
  const std::string count = number > 0 ? fmt::format(" #{}", number) : "";
  return fmt::format("{}{} on rank {} of {} ({})", verb, count, seat().rank, seat().size,
                     to_string(identity_.kind));
}

std::shared_ptr<std::byte> GroupBackend::allocate(std::size_t bytes) {
  check_open("allocate");
  try {
    return memory_for_tensors(bytes);
  } catch (const base::Problem& problem) {
    throw explain(problem, "allocate", 0, {});
  }
}

Error GroupBackend::explain(const base::Problem& problem, std::string_view verb, std::uint64_t number,
                            Duration elapsed) const {
  return Error(problem.kind(), place(verb, number) + ": " + problem.what(),
               {std::string(verb), seat().rank, problem.peer(), elapsed});
}

// The bare cause of a wrong call comes first; who called stands behind it.
Error GroupBackend::wrong(const Error& cause, std::string_view verb) const {
  return Error(cause.kind(),
               fmt::format("{} (rank {} of {}, {})", cause.what(), seat().rank, seat().size,
                           to_string(identity_.kind)),
               {std::string(verb), seat().rank, cause.peer(), {}});
}

template <class Check>
void GroupBackend::checked(std::string_view verb, Check check) const {
  try {
    check();
  } catch (const Error& cause) {
    throw wrong(cause, verb);
  }
}

void GroupBackend::check_open(std::string_view verb) const {
  if (failed()) {
    const Failure cause = *failure();
    throw Error(cause.kind, place(verb, 0) + ": the group has failed: " + cause.text,
                {std::string(verb), seat().rank, cause.rank, {}});
  }
  if (closed_.load(std::memory_order_acquire)) {
    throw Error(ErrorKind::invalid_argument, place(verb, 0) + ": the group was shut down on this rank",
                {std::string(verb), seat().rank, -1, {}});
  }
}

void GroupBackend::check(std::string_view verb, const Message& message) const {
  check_open(verb);
  checked(verb, [&] { validate(verb, message, seat()); });
}

void GroupBackend::check_peer(std::string_view verb, std::string_view side, int peer) const {
  check_open(verb);
  checked(verb, [&] { validate_peer(verb, side, peer, seat()); });
}

Shape GroupBackend::shape_for(std::string_view verb, const std::function<Shape(Seat)>& make) const {
  check_open(verb);
  Shape shape;
  checked(verb, [&] { shape = make(seat()); });
  return shape;
}

// ---- collectives -----------------------------------------------------------------------------------------

void GroupBackend::run(const Collective& call, std::optional<Duration> timeout, std::string_view name) {
  const Verb verb = verb_of(call);
  check_open(name_of(call));
  checked(name_of(call), [&] { check_call(call); });
  if (seat().size == 1) {
    run_alone(call);
    return;
  }
  base::Deadline deadline(scheduler_, timeout.value_or(this->timeout()));
  if (is_gapless(call)) {
    ordered(call, verb, name, deadline);
    return;
  }
  Gapless gapless(call, seat());
  ordered(gapless.call(), verb, name, deadline);
  gapless.finish();
}

// Runs a collective in its turn. Whatever goes wrong inside ends the group, with the first cause on every
// rank.
std::uint64_t GroupBackend::ordered(const Collective& call, Verb verb, std::string_view name,
                                    base::Deadline& deadline) {
  const std::string_view shown = verb == verb_of(call) ? name_of(call) : to_string(verb);
  Order::Turn turn(order_, deadline);
  try {
    check_open(shown);
    if (!turn.valid()) {
      throw base::Problem(ErrorKind::timed_out, -1,
                          "timed out behind another collective of this group on this rank");
    }
    perform(Task{call, verb, turn.number(), digest_of(call, name), deadline});
  } catch (const base::Problem& problem) {
    end_with(problem, shown, turn.number(), deadline.elapsed());
  }
  return turn.number();
}

void GroupBackend::end_with(const base::Problem& problem, std::string_view verb, std::uint64_t number,
                            Duration elapsed) {
  const bool about_peer = problem.kind() == ErrorKind::disconnected && problem.peer() >= 0;
  const Failure mine{problem.kind(), about_peer ? problem.peer() : seat().rank,
                     fmt::format("{}: {}", place(verb, number), problem.what())};
  fail(mine);
  if (failure() == mine) throw explain(problem, verb, number, elapsed);
  const Failure first = *failure();
  throw explain(base::Problem(first.kind, first.rank, first.text), verb, number, elapsed);
}

void run_alone(const Collective& call) {
  std::visit(
      []<class C>(const C& c) {
        if constexpr (requires { c.in; }) {
          if (c.in.data() == c.out.data() || c.in.count() == 0) return;
          if (c.in.contiguous() && c.out.contiguous()) {
            std::memmove(c.out.data(), c.in.data(), c.in.bytes());
            return;
          }
          std::vector<std::byte> flat(c.in.bytes());
          tensor::pack(c.in, flat);
          tensor::unpack(flat, c.out);
        }
      },
      call);
}

std::vector<std::size_t> GroupBackend::exchange_counts(std::span<const std::size_t> send_counts,
                                                       std::optional<Duration> timeout,
                                                       std::string_view name) {
  constexpr std::string_view verb = "plan_all_to_all_v";
  check_open(verb);
  checked(verb, [&] {
    if (send_counts.size() == static_cast<std::size_t>(seat().size)) return;
    invalid(fmt::format("{}: {} send counts given, expected one per rank ({})", verb, send_counts.size(),
                        seat().size));
  });
  const std::vector<std::uint64_t> out(send_counts.begin(), send_counts.end());
  std::vector<std::uint64_t> in(out);
  if (seat().size > 1) {
    base::Deadline deadline(scheduler_, timeout.value_or(this->timeout()));
    ordered(AllToAll{out, in}, Verb::plan, name, deadline);
  }
  return {in.begin(), in.end()};
}

// ---- messages --------------------------------------------------------------------------------------------

template <class Work>
void GroupBackend::guarded(std::string_view verb, base::Deadline& deadline, Work work) {
  try {
    work();
  } catch (const base::Problem& problem) {
    throw explain(problem, verb, 0, deadline.elapsed());
  }
}

void GroupBackend::send(const Send& message, std::optional<Duration> timeout) {
  check("send", message);
  base::Deadline deadline(scheduler_, timeout.value_or(this->timeout()));
  guarded("send", deadline, [&] { perform(message, deadline); });
}

void GroupBackend::recv(const Recv& message, std::optional<Duration> timeout, std::string_view verb) {
  check(verb, message);
  base::Deadline deadline(scheduler_, timeout.value_or(this->timeout()));
  guarded(verb, deadline, [&] { perform(message, deadline); });
}

void GroupBackend::batch(std::span<const Message> messages, std::optional<Duration> timeout,
                         std::string_view verb) {
  check_open(verb);
  checked(verb, [&] {
    for (const Message& each : messages) validate(verb, each, seat());
  });
  base::Deadline deadline(scheduler_, timeout.value_or(this->timeout()));
  guarded(verb, deadline, [&] { perform(messages, deadline); });
}

std::unique_ptr<Operation> GroupBackend::start(const Message& message, std::string_view verb) {
  check(verb, message);
  std::unique_ptr<Operation> operation;
  base::Deadline deadline(scheduler_, timeout());
  guarded(verb, deadline, [&] { operation = begin(message, verb); });
  return operation;
}

MessageInfo GroupBackend::probe(int from, int tag, std::optional<Duration> timeout) {
  check("probe", Recv{View(DType::uint8, nullptr, 0), from, tag});
  base::Deadline deadline(scheduler_, timeout.value_or(this->timeout()));
  MessageInfo info;
  guarded("probe", deadline, [&] { info = wait_for_message(from, tag, deadline); });
  return info;
}

std::optional<MessageInfo> GroupBackend::try_probe(int from, int tag) {
  check("try_probe", Recv{View(DType::uint8, nullptr, 0), from, tag});
  base::Deadline deadline(scheduler_, timeout());
  std::optional<MessageInfo> info;
  guarded("try_probe", deadline, [&] { info = look_for_message(from, tag); });
  return info;
}

// ---- groups ----------------------------------------------------------------------------------------------

struct GroupBackend::Membership {
  std::int64_t color;   // negative: none
  std::int64_t key;     // ties by rank
  std::uint64_t check;  // must be equal on all ranks
};

std::shared_ptr<GroupBackend> GroupBackend::split(int color, std::optional<int> key) {
  check_open("split");
  const bool by_key = key && *key >= 0;
  return regroup({color, by_key ? *key : seat().rank, 0});
}

std::shared_ptr<GroupBackend> GroupBackend::subgroup(std::span<const int> ranks) {
  check_open("subgroup");
  checked("subgroup", [&] {
    std::vector<bool> seen(static_cast<std::size_t>(seat().size));
    for (const int rank : ranks) {
      if (rank < 0 || rank >= seat().size) {
        invalid(fmt::format("subgroup: {} is not a rank of a group of {}", rank, seat().size));
      }
      if (seen[static_cast<std::size_t>(rank)])
        invalid(fmt::format("subgroup: rank {} is listed twice", rank));
      seen[static_cast<std::size_t>(rank)] = true;
    }
  });
  const auto at = std::find(ranks.begin(), ranks.end(), seat().rank);
  return regroup(
      {at == ranks.end() ? -1 : 0, at - ranks.begin(), transport::payload_hash(std::as_bytes(ranks))});
}

std::shared_ptr<GroupBackend> GroupBackend::regroup(const Membership& mine) {
  static_assert(sizeof(Membership) == 3 * sizeof(std::uint64_t));
  const auto n = static_cast<std::size_t>(seat().size);
  std::vector<std::uint64_t> all(3 * n);
  const auto own = std::bit_cast<std::array<std::uint64_t, 3>>(mine);
  std::copy(own.begin(), own.end(), all.begin() + 3 * seat().rank);
  std::uint64_t number = 0;
  if (n > 1) {
    base::Deadline deadline(scheduler_, timeout());
    number = ordered(AllGather{own, all}, Verb::split, {}, deadline);
  } else {
    base::Deadline deadline(scheduler_, timeout());
    number = Order::Turn(order_, deadline).number();
  }
  const auto of = [&](int rank) {
    std::array<std::uint64_t, 3> words;
    std::copy_n(all.begin() + 3 * rank, 3, words.begin());
    return std::bit_cast<Membership>(words);
  };
  std::vector<int> members;
  for (int rank = 0; rank < seat().size; ++rank) {
    if (of(rank).check != mine.check) {
      const base::Problem problem(
          ErrorKind::mismatch, rank,
          fmt::format("mismatch: rank {} and rank {} list other ranks for the same group", seat().rank,
                      rank));
      fail(Failure{problem.kind(), seat().rank,
                   fmt::format("{}: {}", place("subgroup", number), problem.what())});
      throw explain(problem, "subgroup", number, {});
    }
    if (of(rank).color == mine.color && mine.color >= 0) members.push_back(rank);
  }
  if (mine.color < 0) return nullptr;
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) { return of(a).key < of(b).key; });
  // Its wires are made now, and whoever dies meanwhile is missed by all.
  base::Deadline deadline(scheduler_, timeout());
  (void)deadline.end();
  try {
    return make_sub(members, number, static_cast<int>(mine.color));
  } catch (const base::Problem& problem) {
    end_with(problem, "split", number, deadline.elapsed());
  }
}

void GroupBackend::abort(std::string_view reason) {
  fail(Failure{ErrorKind::aborted, seat().rank,
               fmt::format("rank {} aborted the group: {}", seat().rank, reason)});
}

void GroupBackend::shutdown() {
  if (closed_.exchange(true, std::memory_order_acq_rel)) return;
  if (at_shutdown_) at_shutdown_();
  close();
}

}  // namespace rondo::backend
