#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "control/hall.hpp"
#include "rendezvous/roll.hpp"
#include "rendezvous/star.hpp"
#include "rendezvous/star_link.hpp"

namespace rondo::rendezvous {

namespace {

using base::Problem;
using base::TimePoint;
using control::HandshakeHall;
using control::Why;
using Kind = StarFrame::Kind;

class StarServer final : public Rendezvous {
 public:
  StarServer(const control::Identity& who, std::vector<net::Listener> listeners, const StarOptions& options)
      : who_(who),
        size_(static_cast<std::size_t>(who.size)),
        scheduler_(*options.scheduler),
        listeners_(std::move(listeners)),
        hall_(who, scheduler_, [this](const control::Hello& guest) { return judge(guest); }, options.report,
              {.limit = options.handshake_limit}),
        joined_(size_, false),
        stop_(options.stop),
        stop_reason_(options.stop_reason) {
    if (who_.rank >= 0) joined_[static_cast<std::size_t>(who_.rank)] = true;
  }

  std::vector<Blob> exchange(const Blob& mine, base::Deadline& deadline) override;

 private:
  struct Member {
    StarLink link;
    std::optional<Blob> blob;  // for the exchange that is complete next
    std::uint32_t exchange = 0;
  };

  std::vector<Blob> run(const Blob& mine, base::Deadline& deadline);
  control::Refusal judge(const control::Hello& guest) const;
  void turn();
  void see_guests();
  void see_refused();
  void hear(int rank, Member& member);
  void hear(int rank, Member& member, StarFrame frame);
  void tell_roll();
  bool all_brought() const;
  bool all_sent() const;
  std::string roll() const;
  std::vector<Blob> hand_out(const Blob& mine);
  [[noreturn]] void give_up();
  void obey_stop() const;
  void wait(TimePoint until);
  void tell_failure(const Problem& problem);

  control::Identity who_;
  std::size_t size_;
  base::Scheduler& scheduler_;
  std::vector<net::Listener> listeners_;
  HandshakeHall hall_;
  std::multimap<int, Member> members_;  // by rank; two of one rank only on the way to failing
  std::vector<bool> joined_;
  int stop_;
  std::function<std::optional<Problem>(std::size_t joined)> stop_reason_;
  std::map<int, std::string> turned_away_;  // who could not be believed, by the rank it named
  std::string told_;                        // the roll that the members know
  std::uint32_t exchange_ = 0;
  bool handing_out_ = false;
  std::optional<Problem> failure_;
};

std::vector<Blob> StarServer::exchange(const Blob& mine, base::Deadline& deadline) {
  if (failure_) throw Problem(*failure_);
  if (mine.size() > most_blob_bytes)
    throw Problem(ErrorKind::invalid_argument, -1,
                  fmt::format("a blob of {} bytes, at most {} are exchanged", mine.size(), most_blob_bytes));
  try {
    return run(mine, deadline);
  } catch (const Problem& problem) {
    failure_ = problem;
    tell_failure(problem);
    throw;
  }
}

std::vector<Blob> StarServer::run(const Blob& mine, base::Deadline& deadline) {
  (void)deadline.end();
  ++exchange_;
  told_.clear();
  std::vector<Blob> all;
  for (;;) {
    turn();
    if (!handing_out_ && all_brought()) all = hand_out(mine);
    if (handing_out_ && all_sent()) break;
    if (deadline.expired()) give_up();
    obey_stop();
    if (!handing_out_) tell_roll();
    wait(std::min(deadline.end(), hall_.next_limit()));
  }
  handing_out_ = false;
  return all;
}

void StarServer::turn() {
  for (net::Listener& listener : listeners_) hall_.accept_from(listener);
  hall_.turn();
  see_guests();
  see_refused();
  for (auto& [rank, member] : members_) hear(rank, member);
}

control::Refusal StarServer::judge(const control::Hello& guest) const {
  const std::string here = control::name_of(who_.rank);
  if (guest.purpose != control::Purpose::rendezvous)
    return {Why::unexpected, fmt::format("rank {} opens a {} connection at the rendezvous of {}", guest.rank,
                                         to_string(guest.purpose), here)};
  if (joined_[static_cast<std::size_t>(guest.rank)])
    return {
        Why::duplicate,
        fmt::format("two processes say that they are rank {}: one has joined {} already, another came now",
                    guest.rank, here)};
  return {};
}

void StarServer::see_guests() {
  for (HandshakeHall::Guest& guest : hall_.take_guests()) {
    const int rank = guest.hello.rank;
    const bool second = members_.contains(rank);
    members_.emplace(rank, Member{StarLink(std::move(guest.stream)), std::nullopt, 0});
    joined_[static_cast<std::size_t>(rank)] = true;
    if (second)  // both were welcomed in one turn
      throw Problem(ErrorKind::unavailable, rank,
                    fmt::format("two processes say that they are rank {}; the second came from {}", rank,
                                net::to_string(guest.from)));
  }
}

void StarServer::see_refused() {
  for (const HandshakeHall::Refused& refused : hall_.take_refused()) {
    const std::string text =
        fmt::format("refused a connection from {}: {}", net::to_string(refused.from), refused.refusal.text);
    const int rank = refused.said ? refused.said->rank : control::no_rank;
    if (refused.proven) throw Problem(ErrorKind::unavailable, rank, text);
    constexpr std::size_t most_kept = 4;
    if (turned_away_.size() < most_kept) turned_away_[rank] = text;
  }
}

void StarServer::hear(int rank, Member& member) {
  try {
    member.link.turn();
    while (auto frame = member.link.next()) hear(rank, member, *std::move(frame));
  } catch (const Problem& problem) {
    if (problem.peer() >= 0) throw;
    throw Problem(problem.kind(), rank, fmt::format("rank {}: {}", rank, problem.what()));
  }
  // Who has all of this exchange may go; the next one will miss it.
  const bool served = handing_out_ && !member.link.has_output() && !member.link.lost_output();
  if (member.link.closed() && !served)
    throw Problem(ErrorKind::disconnected, rank,
                  fmt::format("rank {} left during set-up ({})", rank, roll()));
}

void StarServer::hear(int rank, Member& member, StarFrame frame) {
  switch (frame.kind) {
    case Kind::blob: {
      const std::uint32_t expected = handing_out_ ? exchange_ + 1 : exchange_;
      if (frame.exchange != expected || frame.rank != rank || member.blob)
        throw Problem(
            ErrorKind::disconnected, rank,
            fmt::format("rank {} broke the protocol of the rendezvous: a blob of rank {} for exchange "
                        "{} in exchange {}",
                        rank, frame.rank, frame.exchange, expected));
      member.exchange = frame.exchange;
      member.blob = std::move(frame.words);
      return;
    }
    case Kind::leave:
      throw Problem(ErrorKind::timed_out, missing_in(joined_).empty() ? -1 : missing_in(joined_).front(),
                    fmt::format("{} (the limit of rank {} ran out)", roll(), rank));
    case Kind::roll:
    case Kind::failed:
      throw Problem(
          ErrorKind::disconnected, rank,
          fmt::format("rank {} broke the protocol of the rendezvous: it spoke like a server", rank));
  }
}

bool StarServer::all_brought() const {
  const std::size_t guests = who_.rank >= 0 ? size_ - 1 : size_;
  return members_.size() == guests && std::ranges::all_of(members_, [this](const auto& each) {
           return each.second.blob && each.second.exchange == exchange_;
         });
}

bool StarServer::all_sent() const {
  return std::ranges::none_of(members_, [](const auto& each) { return each.second.link.has_output(); });
}

std::string StarServer::roll() const {
  if (!missing_in(joined_).empty() || exchange_ == 0) return roll_text(joined_);
  // All are there, but not all take part.
  std::vector<bool> brought(size_, true);
  for (const auto& [rank, member] : members_)
    brought[static_cast<std::size_t>(rank)] =
        handing_out_ ? !member.link.has_output() : member.blob.has_value();
  return fmt::format("exchange {}: {}", exchange_, roll_text(brought, handing_out_ ? "served" : "came"));
}

void StarServer::tell_roll() {
  const std::string now = roll();
  if (now == told_) return;
  told_ = now;
  StarFrame frame;
  frame.kind = Kind::roll;
  frame.exchange = exchange_;
  frame.words = now;
  const auto bytes = std::make_shared<const std::string>(encode(frame));
  for (auto& [rank, member] : members_) {
    member.link.put(bytes);
    member.link.flush();  // reads nothing: what came now would be looked at only after the wait
  }
}

std::vector<Blob> StarServer::hand_out(const Blob& mine) {
  std::vector<Blob> all(size_);
  if (who_.rank >= 0) all[static_cast<std::size_t>(who_.rank)] = mine;
  for (auto& [rank, member] : members_) {
    all[static_cast<std::size_t>(rank)] = *std::exchange(member.blob, std::nullopt);
  }
  for (std::size_t rank = 0; rank < size_; ++rank) {
    StarFrame frame;
    frame.exchange = exchange_;
    frame.rank = static_cast<int>(rank);
    frame.words = all[rank];
    const auto bytes = std::make_shared<const std::string>(encode(frame));
    for (auto& [to, member] : members_) member.link.put(bytes);
  }
  handing_out_ = true;
  for (auto& [rank, member] : members_) member.link.flush();
  return all;
}

void StarServer::give_up() {
  std::string text = roll();
  for (const auto& [rank, words] : turned_away_) text += "; " + words;
  const std::vector<int> missing = missing_in(joined_);
  throw Problem(ErrorKind::timed_out, missing.empty() ? -1 : missing.front(), text);
}

void StarServer::obey_stop() const {
  if (stop_reason_) {
    if (const auto reason = stop_reason_(members_.size())) throw Problem(*reason);
    return;
  }
  pollfd polled{stop_, POLLIN, 0};
  if (stop_ >= 0 && ::poll(&polled, 1, 0) > 0)
    throw Problem(ErrorKind::aborted, -1, "the rendezvous was stopped");
}

void StarServer::wait(TimePoint until) {
  std::vector<pollfd> polled;
  if (stop_ >= 0) polled.push_back({stop_, POLLIN, 0});
  if (hall_.has_room())
    for (const net::Listener& listener : listeners_) polled.push_back({listener.fd(), POLLIN, 0});
  hall_.append_to(polled);
  for (const auto& [rank, member] : members_)
    if (!member.link.closed()) polled.push_back(member.link.polled());
  wait_for_any(polled, until, scheduler_);
}

/// Bounded: a member that reads nothing is left without words. Those in the middle of a handshake hear the
/// closing of their connections.
void StarServer::tell_failure(const Problem& problem) {
  const auto bytes = std::make_shared<const std::string>(encode(failed_frame(exchange_, problem)));
  for (auto& [rank, member] : members_) member.link.put(bytes);
  const TimePoint end = scheduler_.now() + std::chrono::milliseconds(50);
  // Until each has hung up: closing while bytes of it are unread would take the words back.
  for (;;) {
    std::vector<pollfd> polled;
    hall_.turn();
    for (HandshakeHall::Guest& guest : hall_.take_guests())  // welcome, but too late
      members_.emplace(guest.hello.rank, Member{StarLink(std::move(guest.stream)), std::nullopt, 0})
          ->second.link.put(bytes);
    hall_.append_to(polled);
    for (auto& [rank, member] : members_) {
      try {
        member.link.turn();
        while (member.link.next()) continue;
      } catch (const Problem&) {
        continue;  // it ends by closing
      }
      if (!member.link.closed()) polled.push_back(member.link.polled());
    }
    if (polled.empty() || scheduler_.now() >= end) return;
    wait_for_any(polled, end, scheduler_);
  }
}

}  // namespace

std::vector<net::Listener> listen_at(const net::HostPort& where) {
  std::vector<net::Listener> listeners;
  std::optional<Problem> first;
  std::uint16_t port = where.port;
  for (net::Address address : net::resolve(where)) {
    address.set_port(port);
    try {
      listeners.emplace_back(address);
      port = listeners.back().bound().port();
    } catch (const Problem& problem) {
      if (!first) first = problem;
    }
  }
  if (listeners.empty())
    throw Problem(ErrorKind::unavailable, -1,
                  fmt::format("no rendezvous at {}:{}: {}", where.host, where.port,
                              first ? first->what() : "the host has no address"));
  return listeners;
}

std::unique_ptr<Rendezvous> serve_star(const control::Identity& who, std::vector<net::Listener> listeners,
                                       const StarOptions& options) {
  RONDO_INVARIANT(who.size > 0 && (who.rank == 0 || who.rank == control::no_rank));
  return std::make_unique<StarServer>(who, std::move(listeners), options);
}

}  // namespace rondo::rendezvous
