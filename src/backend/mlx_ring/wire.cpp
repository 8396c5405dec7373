#include "backend/mlx_ring/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/cores.hpp"

namespace rondo::backend::mlx {

namespace {

using base::Deadline;
using base::Problem;

constexpr std::size_t scratch_bytes = 256 << 10;
// Of one system call, so that reading and writing take turns.
constexpr std::size_t most_at_once = 512 << 10;

std::string entry_text(const rendezvous::Hostfile& file, int rank, std::size_t cable) {
  return fmt::format("hostfile \"{}\", entry {}, address {} (\"{}\")", file.path, rank, cable,
                     rendezvous::to_string(file.ranks[static_cast<std::size_t>(rank)][cable]));
}

// MLX's sockets are of IPv4, so a name that has both means that one.
net::Address look_up(const rendezvous::Hostfile& file, int rank, std::size_t cable) {
  try {
    const std::vector<net::Address> found = net::resolve(file.ranks[static_cast<std::size_t>(rank)][cable]);
    const auto v4 = std::ranges::find(found, AF_INET, &net::Address::family);
    return v4 == found.end() ? found.front() : *v4;
  } catch (const Problem& problem) {
    throw Problem(problem.kind(), rank, entry_text(file, rank, cable) + ": " + problem.what());
  }
}

}  // namespace

// ---- set-up ----------------------------------------------------------------------------------------------

Wire::Wire() : rank_(0), size_(1), bell_(base::real_scheduler()), order_(base::real_scheduler()) {}

Wire::Wire(const rendezvous::Hostfile& file, int rank, Deadline& deadline)
    : rank_(rank), size_(file.size()), bell_(base::real_scheduler()), order_(base::real_scheduler()) {
  rendezvous::check_ring(file, rank);
  const auto& own = file.ranks[static_cast<std::size_t>(rank)];
  ranks_here_ = 0;
  for (int r = 0; r < size_; ++r)
    if (file.ranks[static_cast<std::size_t>(r)].front().host == own.front().host) {
      if (r < rank) ++place_here_;
      ++ranks_here_;
    }
  lanes_.resize(4 * own.size());
  // All listen from the start, so that a neighbour's first attempt succeeds; MLX calls them in order.
  std::vector<net::Listener> listeners;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const net::Address address = look_up(file, rank, k);
    try {
      listeners.emplace_back(address, 1);
    } catch (const Problem& problem) {
      throw Problem(problem.kind(), rank, entry_text(file, rank, k) + ": " + problem.what());
    }
  }
  if (rank + 1 < size_) {
    accept_left(file, listeners, deadline);
    connect_right(file, deadline);
  } else {
    connect_right(file, deadline);
    accept_left(file, listeners, deadline);
  }
}

void Wire::accept_left(const rendezvous::Hostfile& file, std::vector<net::Listener>& listeners,
                       Deadline& deadline) {
  for (std::size_t k = 0; k < listeners.size(); ++k) {
    base::Fd fd;
    while (!(fd = listeners[k].accept())) {
      if (net::wait_ready(listeners[k].fd(), net::Ready::read, deadline)) continue;
      const int left = neighbour(Side::left);
      throw Problem(
          ErrorKind::timed_out, left,
          fmt::format("rank {} has not connected to {} within {:g} s", left, entry_text(file, rank_, k),
                      std::chrono::duration<double>(deadline.limit()).count()));
    }
    attach(Side::left, static_cast<int>(k), std::move(fd));
  }
}

void Wire::connect_right(const rendezvous::Hostfile& file, Deadline& deadline) {
  const int right = neighbour(Side::right);
  for (std::size_t k = 0; k < lanes_.size() / 4; ++k) {
    const net::Address address = look_up(file, right, k);
    try {
      attach(Side::right, static_cast<int>(k), net::connect(address, deadline));
    } catch (const Problem& problem) {
      throw Problem(problem.kind(), right, entry_text(file, right, k) + ": " + problem.what());
    }
  }
}

void Wire::attach(Side side, int cable, base::Fd fd) {
  const auto stream = std::make_shared<net::SocketStream>(std::move(fd));
  for (const bool outgoing : {false, true}) {
    Lane& its = lane(side, cable, outgoing);
    its.stream = stream;
    its.outgoing = outgoing;
    its.peer = neighbour(side);
  }
}

// ---- moving bytes ----------------------------------------------------------------------------------------

// Bytes that went through the system; 0 when nothing can move now.
std::size_t Wire::move_some(Lane& lane, Transfer& transfer) {
  net::Moved moved;
  if (lane.outgoing) {
    const std::size_t ready = transfer.after == nullptr ? transfer.size : transfer.after->done;
    if (ready == transfer.done) return 0;
    moved = lane.stream->writev(
        {transfer.data + transfer.done, std::min(ready - transfer.done, most_at_once)}, {});
    transfer.done += moved.bytes;
  } else if (transfer.combine == nullptr) {
    moved = lane.stream->read(
        {transfer.data + transfer.done, std::min(transfer.size - transfer.done, most_at_once)});
    transfer.done += moved.bytes;
  } else {
    if (!lane.scratch) lane.scratch = std::make_unique<std::byte[]>(scratch_bytes);
    const std::size_t wanted = std::min(transfer.size - transfer.done, scratch_bytes) - lane.pending;
    moved = lane.stream->read({lane.scratch.get() + lane.pending, wanted});
    lane.pending += moved.bytes;
    const std::size_t whole = lane.pending - lane.pending % transfer.element;
    if (whole > 0) {
      (*transfer.combine)(transfer.data + transfer.done, lane.scratch.get(), whole / transfer.element);
      transfer.done += whole;
      lane.pending -= whole;
      std::memmove(lane.scratch.get(), lane.scratch.get() + whole, lane.pending);
    }
  }
  if (moved.state == net::Moved::State::closed) {
    throw Problem(
        ErrorKind::disconnected, lane.peer,
        fmt::format("rank {} closed its connection after {} of {} bytes {}", lane.peer,
                    transfer.done + lane.pending, transfer.size, lane.outgoing ? "to it" : "from it"));
  }
  return moved.bytes;
}

bool Wire::move(Lane& lane) {
  bool moved = false;
  while (!lane.queue.empty()) {
    Transfer& transfer = *lane.queue.front();
    const std::size_t bytes = move_some(lane, transfer);
    if (bytes > 0) moved = true;
    if (transfer.done == transfer.size) {
      lane.queue.pop_front();
      continue;
    }
    break;
  }
  return moved;
}

bool Wire::move_all() {
  bool moved = false;
  for (Lane& each : lanes_)
    if (move(each)) moved = true;
  return moved;
}

void Wire::check() const {
  if (!failed()) return;
  const Failure cause = *failure();
  throw Problem(cause.kind, cause.rank, cause.text);
}

void Wire::too_late(Deadline& deadline) {
  const double limit = std::chrono::duration<double>(deadline.limit()).count();
  for (const bool outgoing : {false, true})
    for (const Lane& each : lanes_) {
      if (each.outgoing != outgoing || each.queue.empty()) continue;
      const Transfer& waits = *each.queue.front();
      throw Problem(ErrorKind::timed_out, each.peer,
                    fmt::format("timed out after {:g} s: rank {} has {} {} of {} bytes", limit, each.peer,
                                outgoing ? "taken" : "sent", waits.done + each.pending, waits.size));
    }
  throw Problem(ErrorKind::timed_out, -1, fmt::format("timed out after {:g} s", limit));
}

// Sleeps until a connection that somebody waits for is ready.
void Wire::nap(Deadline& deadline) {
  const std::uint32_t ticket = bell_.ticket();
  check();
  polled_.clear();
  for (const Lane& each : lanes_) {
    if (each.queue.empty()) continue;
    const Transfer& next = *each.queue.front();
    if (each.outgoing && next.after != nullptr && next.after->done == next.done) continue;
    polled_.push_back({each.stream->fd(), each.outgoing ? short{POLLOUT} : short{POLLIN}, 0});
  }
  bell_.wait(ticket, deadline.end(), polled_);
}

// ---- batches ---------------------------------------------------------------------------------------------

Wire::Batch::Batch(Wire& wire, Deadline& deadline) : wire_(wire) {
  take_turn(deadline);
  wire_.check();
}

void Wire::Batch::take_turn(Deadline& deadline) {
  turn_.emplace(wire_.order_, deadline);
  if (turn_->valid()) return;
  turn_.reset();
  throw Problem(ErrorKind::timed_out, -1, "timed out behind another call of this ring on this rank");
}

Wire::Batch::~Batch() {
  if (over()) return;
  if (!turn_) {
    Deadline patient(base::real_scheduler(), std::chrono::hours(24));
    turn_.emplace(wire_.order_, patient);
  }
  bool halfway = false;
  for (Lane& each : wire_.lanes_) {
    const auto ours = [&](const Transfer* one) {
      return std::ranges::any_of(transfers_, [&](const Transfer& mine) { return &mine == one; });
    };
    if (!each.queue.empty() && ours(each.queue.front()) && each.queue.front()->done + each.pending > 0)
      halfway = true;
    std::erase_if(each.queue, ours);
  }
  // Part of a pass was moved even where each of its transfers is whole or has not begun.
  const bool some = std::ranges::any_of(transfers_, [](const Transfer& one) { return one.done > 0; });
  if (halfway || some) {
    wire_.fail(
        {ErrorKind::aborted, wire_.rank_,
         fmt::format("rank {} gave up a transfer halfway, and on the wire of MLX nobody can tell where "
                     "the next one begins",
                     wire_.rank_)});
  }
}

const Transfer* Wire::Batch::add(Side side, int cable, bool outgoing, const Transfer& transfer) {
  if (transfer.size == 0) return nullptr;
  transfers_.push_back(transfer);
  wire_.lane(side, cable, outgoing).queue.push_back(&transfers_.back());
  return &transfers_.back();
}

bool Wire::Batch::over() const noexcept {
  return std::ranges::all_of(transfers_, [](const Transfer& one) { return one.done == one.size; });
}

void Wire::Batch::finish(Deadline& deadline) {
  constexpr base::Duration longest_spin = std::chrono::microseconds(100);
  base::Scheduler& clock = base::real_scheduler();
  const bool own_core = wire_.ranks_here_ <= base::usable_cores();
  base::TimePoint spin_end{};
  int fruitless = 0;
  try {
    for (unsigned turn = 1; !over(); ++turn) {
      wire_.check();
      if (turn % 64 == 0 && deadline.expired()) wire_.too_late(deadline);
      if (wire_.move_all()) {
        fruitless = 0;
        continue;
      }
      if (++fruitless == 1) {
        spin_end = clock.now() + (own_core ? longest_spin : base::Duration::zero());
      } else if (clock.now() < spin_end) {
        if (fruitless % 16 == 0) clock.yield();
      } else if (fruitless < 4) {
        clock.yield();
      } else {
        if (deadline.expired()) wire_.too_late(deadline);
        wire_.nap(deadline);
      }
    }
  } catch (const Problem& problem) {
    wire_.check();
    // Halfway nobody could go on, so the wire ends with this cause.
    const bool lost = problem.kind() == ErrorKind::disconnected;
    const bool begun = std::ranges::any_of(transfers_, [](const Transfer& one) { return one.done > 0; });
    if (lost || begun) wire_.fail({problem.kind(), lost ? problem.peer() : wire_.rank_, problem.what()});
    throw;
  }
}

void Wire::Batch::wait(Deadline& deadline) {
  if (!turn_) take_turn(deadline);
  finish(deadline);
  release();
}

bool Wire::Batch::test() {
  Deadline now(base::real_scheduler(), std::chrono::nanoseconds(1));
  Order::Turn turn(wire_.order_, now);
  if (!turn.valid()) return false;
  wire_.check();
  if (!over()) wire_.move_all();
  return over();
}

// ---- the end ---------------------------------------------------------------------------------------------

void Wire::fail(const Failure& cause) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = cause;
    failed_.store(true, std::memory_order_release);
  }
  close();
  bell_.ring();
}

std::optional<Failure> Wire::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void Wire::close() noexcept {
  for (Lane& each : lanes_)
    if (each.stream && each.outgoing) each.stream->shutdown();
}

}  // namespace rondo::backend::mlx
