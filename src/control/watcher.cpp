#include "control/watcher.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/problem.hpp"
#include "net/local.hpp"

namespace rondo::control {

namespace {

using Kind = ControlFrame::Kind;

constexpr std::size_t most_early = 1024;
// How long the launcher may take to say why a process has ended. Less than a wire that has ended waits for
// word from here.
constexpr base::Duration word_patience = std::chrono::milliseconds(150);
constexpr std::size_t most_over = 1024;
const std::string unreachable = "its process has ended or cannot be reached";
const std::string left_words = "it has left the job";
const std::string dead = "its process has ended";
const std::string no_sense = "what it says over its control connection makes no sense";

std::vector<std::byte> frame_of(Kind kind, std::uint64_t group = 0, const Failure& cause = {}) {
  return encode({kind, group, cause});
}

bool has_ended(int process) {
  pollfd entry{process, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

}  // namespace

struct Watcher::Peer {
  Peer(int its_rank, net::SocketStream its_stream, const net::Address& its_place)
      : rank(its_rank), stream(std::move(its_stream)), listens(its_place) {
    if (net::is_local(stream.fd())) process = net::peer_process(stream.fd());
  }

  int rank;
  net::SocketStream stream;
  net::Address listens;
  base::Fd process;  // readable once it has ended; empty for other hosts
  ControlReader in;
  std::vector<std::byte> out;
  bool leaving = false;  // it has said so: its end is no loss
  bool over = false;
  std::string lost_words;  // set when it was over without leaving
  // It has ended, and the launcher has until then to say why; else these are the words.
  std::optional<base::TimePoint> word_until;
  std::string words;
};

Watcher::Watcher(const Identity& identity, std::vector<net::Listener> listeners, HandshakeHall::Report report)
    : identity_(identity),
      listeners_(std::move(listeners)),
      hall_(
          identity, base::real_scheduler(),
          [this](const Hello& guest) -> Refusal {
            if (guest.purpose != Purpose::rendezvous && guest.to == identity_.rank) return {};
            return {Why::unexpected,
                    fmt::format("{} waits for no {} connection to {}", name_of(identity_.rank),
                                to_string(guest.purpose), name_of(guest.to))};
          },
          std::move(report)),
      wake_(base::real_scheduler()),
      arrived_(base::real_scheduler()),
      calls_(identity, base::real_scheduler()) {
  thread_ = base::real_scheduler().spawn([this] { run(); });
}

Watcher::~Watcher() {
  {
    std::lock_guard lock(mutex_);
    for (auto& [rank, peer] : peers_) send(*peer, frame_of(Kind::leaving));
  }
  over_.store(true, std::memory_order_release);
  wake_.ring();
  thread_.join();
}

net::SocketStream Watcher::await(Purpose purpose, std::uint64_t group, int rank, base::Deadline& deadline,
                                 const Proceed& proceed) {
  for (;;) {
    const std::uint32_t ticket = arrived_.ticket();
    if (proceed) proceed();
    {
      std::lock_guard lock(mutex_);
      const auto at = waiting_.find({purpose, group, rank});
      if (at != waiting_.end()) {
        net::SocketStream found = std::move(at->second);
        waiting_.erase(at);
        return found;
      }
      throw_if_vain(group, rank);
    }
    if (!arrived_.wait(ticket, deadline.end()) && deadline.expired()) {
      std::lock_guard lock(mutex_);
      throw base::Problem(
          ErrorKind::timed_out, rank,
          with_obstacle(fmt::format("rank {} did not connect ({})", rank, to_string(purpose))));
    }
  }
}

// It will never connect.
void Watcher::throw_if_vain(std::uint64_t group, int rank) const {
  const auto cause = std::ranges::find(early_, group, [](const auto& each) { return each.first; });
  if (cause != early_.end()) throw base::Problem(cause->second.kind, -1, cause->second.text);
  const auto peer = peers_.find(rank);
  if (peer == peers_.end() || !peer->second->over) return;
  const std::string& why = peer->second->leaving ? left_words : peer->second->lost_words;
  throw base::Problem(ErrorKind::disconnected, rank,
                      with_obstacle(fmt::format("rank {} is gone: {}", rank, why)));
}

// It may have come and not been let in.
std::string Watcher::with_obstacle(const std::string& text) const {
  return obstacle_.empty() ? text : text + "; " + obstacle_;
}

void Watcher::catch_up() {
  std::lock_guard lock(mutex_);
  for (auto& [rank, peer] : peers_) hear(*peer);
  wake_.ring();  // what was heard may be for the thread to do
}

void Watcher::watch(int rank, net::SocketStream connection, const net::Address& listens) {
  std::lock_guard lock(mutex_);
  peers_[rank] = std::make_unique<Peer>(rank, std::move(connection), listens);
  wake_.ring();
}

void Watcher::enroll(std::uint64_t group, Watched& watched) {
  std::lock_guard lock(mutex_);
  groups_[group] = &watched;
  std::erase(over_groups_, group);
  const auto at = std::ranges::find(early_, group, [](const auto& each) { return each.first; });
  if (at != early_.end()) {
    watched.ended(at->second);
    early_.erase(at);
  }
  for (auto& [key, stream] : waiting_) {
    const auto& [purpose, its_group, rank] = key;
    if (purpose == Purpose::message_lane && its_group == group) watched.connected(rank, std::move(stream));
  }
  std::erase_if(waiting_, [&](const auto& each) {
    return std::get<0>(each.first) == Purpose::message_lane && std::get<1>(each.first) == group;
  });
  for (const auto& [its_group, rank] : early_left_) {
    if (its_group == group) watched.left(rank);
  }
  std::erase_if(early_left_, [&](const auto& each) { return each.first == group; });
  for (auto& [rank, peer] : peers_) {
    if (!peer->lost_words.empty()) watched.lost(rank, peer->lost_words);
  }
}

void Watcher::withdraw(std::uint64_t group) {
  std::lock_guard lock(mutex_);
  groups_.erase(group);
  if (calls_.drop(group)) wake_.ring();
  std::erase_if(waiting_, [&](const auto& each) { return std::get<1>(each.first) == group; });
  std::erase_if(called_, [&](const auto& each) { return each.first == group; });
  std::erase_if(early_left_, [&](const auto& each) { return each.first == group; });
  // What concerns it may still be on its way. A group is over for all of its ranks at much the same time, so
  // the oldest need not be remembered for ever.
  if (over_groups_.size() == most_over) over_groups_.pop_front();
  over_groups_.push_back(group);
}

bool Watcher::is_over(std::uint64_t group) const {
  return std::ranges::find(over_groups_, group) != over_groups_.end();
}

void Watcher::want_wire(std::uint64_t group, int rank) {
  std::lock_guard lock(mutex_);
  const auto at = peers_.find(rank);
  if (at == peers_.end() || at->second->over) return;  // its loss is told, or will be
  if (rank < identity_.rank) {
    call(group, rank);
  } else {
    send(*at->second, frame_of(Kind::wire_wanted, group));
  }
}

void Watcher::tell_left(std::uint64_t group, int rank) {
  std::lock_guard lock(mutex_);
  const auto at = peers_.find(rank);
  if (at != peers_.end() && !at->second->over) send(*at->second, frame_of(Kind::left, group));
}

// Both may want the wire at once, and either more than once.
void Watcher::call(std::uint64_t group, int rank) {
  if (!called_.emplace(group, rank).second) return;
  calls_.start(Purpose::message_lane, group, rank, peers_.at(rank)->listens);
  wake_.ring();
}

void Watcher::turn_calls() {
  for (auto& [group, rank, stream, why] : calls_.turn()) {
    if (stream) {
      deliver(group, rank, *std::move(stream));
    } else if (const auto at = groups_.find(group); at != groups_.end()) {
      at->second->unconnected(rank, why);
    } else {
      called_.erase({group, rank});  // the group is being made here, and may try again
    }
  }
}

void Watcher::take_in(HandshakeHall::Guest guest) {
  const Hello& hello = guest.hello;
  if (watches_all_ && hello.purpose == Purpose::control) {
    peers_[hello.rank] = std::make_unique<Peer>(hello.rank, std::move(guest.stream), net::Address());
  } else if (hello.purpose == Purpose::message_lane) {
    deliver(hello.group, hello.rank, std::move(guest.stream));
  } else if (!is_over(hello.group)) {
    waiting_.insert_or_assign(Key{hello.purpose, hello.group, hello.rank}, std::move(guest.stream));
    arrived_.ring();
  }
}

// To a group that is over: closed. The other side has been told why beside the wires.
void Watcher::deliver(std::uint64_t group, int rank, net::SocketStream stream) {
  if (const auto at = groups_.find(group); at != groups_.end()) {
    at->second->connected(rank, std::move(stream));
  } else if (!is_over(group)) {
    waiting_.insert_or_assign(Key{Purpose::message_lane, group, rank}, std::move(stream));
    arrived_.ring();
  }
}

void Watcher::announce(std::uint64_t group, std::span<const int> ranks, const Failure& cause) {
  const auto frame = frame_of(Kind::ended, group, cause);
  std::lock_guard lock(mutex_);
  for (const int rank : ranks) {
    const auto at = peers_.find(rank);
    if (at != peers_.end() && !at->second->over) send(*at->second, frame);
  }
}

void Watcher::watch_all_who_come() {
  std::lock_guard lock(mutex_);
  watches_all_ = true;
}

void Watcher::tell_lost(int rank, std::string_view why) {
  const auto frame = frame_of(Kind::lost, 0, {ErrorKind::disconnected, rank, std::string(why)});
  std::lock_guard lock(mutex_);
  for (auto& [to, peer] : peers_) {
    if (to != rank && !peer->over) send(*peer, frame);
  }
}

void Watcher::send(Peer& peer, std::span<const std::byte> frame) {
  peer.out.insert(peer.out.end(), frame.begin(), frame.end());
  flush(peer);
  if (!peer.out.empty()) wake_.ring();  // the thread waits until it can go on
}

void Watcher::flush(Peer& peer) {
  while (!peer.out.empty() && !peer.over) {
    const net::Moved moved = peer.stream.writev(peer.out, {});
    if (moved.state == net::Moved::State::blocked) return;
    if (moved.state == net::Moved::State::closed) {
      peer.out.clear();  // its end is heard by reading
      return;
    }
    peer.out.erase(peer.out.begin(), peer.out.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
  }
}

void Watcher::run() {
  while (!over_.load(std::memory_order_acquire)) {
    const std::uint32_t ticket = wake_.ticket();
    std::vector<pollfd> polled;
    for (const net::Listener& each : listeners_) polled.push_back({each.fd(), POLLIN, 0});
    hall_.append_to(polled);
    base::TimePoint due = hall_.next_limit();
    {
      std::lock_guard lock(mutex_);
      for (const auto& [rank, peer] : peers_) {
        if (peer->over) continue;
        if (peer->word_until) {
          due = std::min(due, *peer->word_until);
          continue;
        }
        const short events = peer->out.empty() ? POLLIN : POLLIN | POLLOUT;
        polled.push_back({peer->stream.fd(), events, 0});
        if (peer->process) polled.push_back({peer->process.get(), POLLIN, 0});
      }
      calls_.append_to(polled);
      due = std::min(due, calls_.next_turn());
    }
    if (over_.load(std::memory_order_acquire)) return;
    wake_.wait(ticket, due, polled);
    const std::string obstacle = let_in();
    hall_.turn();
    hall_.take_refused();
    std::lock_guard lock(mutex_);
    obstacle_ = obstacle;
    for (auto& guest : hall_.take_guests()) take_in(std::move(guest));
    turn_calls();
    for (auto& [rank, peer] : peers_) {
      flush(*peer);
      hear(*peer);
      // What it said before it ended has been heard.
      if (!peer->over && peer->process && has_ended(peer->process.get())) ended(*peer, dead);
      if (peer->word_until && base::real_scheduler().now() >= *peer->word_until) gone(*peer, peer->words);
    }
  }
}

// Empty, or why not.
std::string Watcher::let_in() {
  try {
    for (net::Listener& each : listeners_) hall_.accept_from(each);
    return {};
  } catch (const base::Problem& problem) {
    // Out of descriptors: the connection goes on waiting. A pause, so that this thread does not spin on it.
    base::real_scheduler().sleep_until(base::real_scheduler().now() + std::chrono::milliseconds(50));
    return problem.what();
  }
}

void Watcher::hear(Peer& peer) {
  std::array<std::byte, 4096> chunk;
  while (!peer.over && !peer.word_until) {
    const net::Moved moved = peer.stream.read(chunk);
    if (moved.state == net::Moved::State::blocked) return;
    if (moved.state == net::Moved::State::closed) {
      ended(peer, unreachable);
      return;
    }
    try {
      peer.in.feed(std::span<const std::byte>(chunk).first(moved.bytes));
      while (auto frame = peer.in.next()) obey(peer, *frame);
    } catch (const base::Problem&) {
      gone(peer, no_sense);
      return;
    }
  }
}

void Watcher::obey(Peer& peer, const ControlFrame& frame) {
  const bool from_launcher = peer.rank == no_rank;
  switch (frame.kind) {
    case Kind::leaving:
      peer.leaving = true;
      return;
    case Kind::ended:
      return obey_cause(frame.group, frame.cause);
    case Kind::lost:
      if (!from_launcher) break;
      if (const auto at = peers_.find(frame.cause.rank); at != peers_.end() && frame.cause.rank != no_rank) {
        hear(*at->second);  // its own last words go first
        gone(*at->second, frame.cause.text);
      }
      return;
    case Kind::wire_wanted:
    case Kind::left:
      if (from_launcher) break;
      return obey_wire(peer, frame.kind == Kind::wire_wanted, frame.group);
  }
  throw base::Problem(ErrorKind::disconnected, peer.rank, "a control frame that is not for this sender");
}

void Watcher::obey_cause(std::uint64_t group, const Failure& cause) {
  if (const auto at = groups_.find(group); at != groups_.end()) {
    at->second->ended(cause);
    return;
  }
  // Of a group that is being made here; or that this rank has left, which nobody will ask for: the oldest go.
  if (early_.size() == most_early) early_.pop_front();
  early_.emplace_back(group, cause);
  arrived_.ring();  // who makes it waits in vain
}

void Watcher::obey_wire(Peer& peer, bool wanted, std::uint64_t group) {
  if (is_over(group)) return;  // it is told, or has been, that this rank has left
  if (wanted) {
    if (peer.rank < identity_.rank) call(group, peer.rank);
  } else if (const auto at = groups_.find(group); at != groups_.end()) {
    at->second->left(peer.rank);
  } else {
    early_left_.emplace(group, peer.rank);
  }
}

// The launcher knows what its processes end with, and who ended first: whoever waits for its word fails only
// after it has seen the cause.
void Watcher::ended(Peer& peer, const std::string& why) {
  if (peer.over || peer.word_until) return;
  const auto launcher = peers_.find(no_rank);
  if (peer.leaving || peer.rank == no_rank || launcher == peers_.end() || launcher->second->over) {
    gone(peer, why);
    return;
  }
  peer.word_until = base::real_scheduler().now() + word_patience;
  peer.words = why;
}

void Watcher::gone(Peer& peer, const std::string& why) {
  if (peer.over) return;
  peer.over = true;
  peer.stream.shutdown();
  arrived_.ring();  // nobody need wait for its connections
  if (peer.leaving) return;
  peer.lost_words = why;
  for (auto& [id, watched] : groups_) {
    watched->lost(peer.rank, why);
  }
}

}  // namespace rondo::control
