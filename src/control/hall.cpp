#include "control/hall.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.hpp"
#include "base/problem.hpp"

namespace rondo::control {

namespace {

constexpr std::size_t most_refused = 64;  // kept until they are asked for

bool is_silent(const Handshake& handshake) { return !handshake.peer() && handshake.outgoing().empty(); }

}  // namespace

HandshakeHall::HandshakeHall(const Identity& identity, base::Scheduler& scheduler, Judge judge, Report report,
                             const Options& options)
    : identity_(identity),
      scheduler_(scheduler),
      judge_(std::move(judge)),
      report_(std::move(report)),
      options_(options) {}

void HandshakeHall::accept_from(net::Listener& listener) {
  // Each is heard before the next is let in: who has its hello on the way is not the one to make room.
  for (std::size_t i = 0; i < 2 * options_.most_pending && has_room(); ++i) {
    net::Address from;
    base::Fd connection = listener.accept(&from);
    if (!connection) return;
    take(std::move(connection), from);
  }
}

void HandshakeHall::take(base::Fd connection, const net::Address& from) {
  if (pending_.size() >= options_.most_pending) make_room();
  // The purpose in an answer is the acceptor's own and says nothing; the opener's counts.
  const Hello mine = hello_of(identity_, Purpose::rendezvous);
  pending_.push_back(Pending{net::SocketStream(std::move(connection)), from,
                             Handshake(Handshake::Role::acceptor, mine, identity_.secret),
                             scheduler_.now() + options_.limit});
  if (!advance(pending_.back())) pending_.pop_back();
}

bool HandshakeHall::has_room() const noexcept {
  if (pending_.size() < options_.most_pending) return true;
  return std::ranges::any_of(pending_,
                             [](const Pending& each) { return each.leaving || is_silent(each.handshake); });
}

void HandshakeHall::make_room() {
  const auto oldest = std::ranges::find_if(
      pending_, [](const Pending& each) { return each.leaving || is_silent(each.handshake); });
  RONDO_INVARIANT(oldest != pending_.end());
  if (!oldest->leaving) dropped(*oldest, "it said nothing while others waited for its place");
  pending_.erase(oldest);
}

void HandshakeHall::append_to(std::vector<pollfd>& polled) const {
  for (const Pending& each : pending_) {
    const bool writes = !each.leaving && !each.handshake.outgoing().empty();
    polled.push_back({each.stream.fd(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  }
}

base::TimePoint HandshakeHall::next_limit() const noexcept {
  base::TimePoint next = base::never;
  for (const Pending& each : pending_) next = std::min(next, each.limit);
  return next;
}

void HandshakeHall::turn() {
  std::erase_if(pending_, [this](Pending& each) { return !advance(each); });
}

bool HandshakeHall::advance(Pending& pending) {
  if (pending.leaving) return see_off(pending);
  Turn turn = drive(pending.handshake, pending.stream);
  if (turn == Turn::waits) {
    decide(pending);
    turn = drive(pending.handshake, pending.stream);
  }
  switch (turn) {
    case Turn::waits:
    case Turn::blocked:
      if (scheduler_.now() < pending.limit) return true;
      dropped(pending, "its handshake was not over at the limit");
      return false;
    case Turn::closed:
      dropped(pending, "it hung up during the handshake");
      return false;
    case Turn::over:
      return ended(pending);
  }
  return false;
}

void HandshakeHall::decide(Pending& pending) {
  const Refusal refusal = judge_(*pending.handshake.peer());
  if (refusal.why == Why::none)
    pending.handshake.welcome();
  else
    pending.handshake.refuse(refusal);
}

bool HandshakeHall::ended(Pending& pending) {
  Handshake& handshake = pending.handshake;
  if (handshake.state() == Handshake::State::done) {
    guests_.push_back(Guest{std::move(pending.stream), pending.from, *handshake.peer()});
    return false;
  }
  const Refusal& refusal = handshake.refusal();
  dropped(pending, refusal.text);
  if (refusal.why == Why::stranger) return false;
  if (refused_.size() < most_refused)
    refused_.push_back({pending.from, handshake.peer(), handshake.proven(), refusal});
  if (handshake.refused_by_peer()) return false;
  // Closing with unread bytes would take back the words that were sent.
  pending.leaving = true;
  return see_off(pending);
}

bool HandshakeHall::see_off(Pending& pending) {
  std::array<std::byte, 256> unheard;
  for (int i = 0; i < 16; ++i) {
    const net::Moved moved = pending.stream.read(unheard);
    if (moved.state == net::Moved::State::closed) return false;
    if (moved.state == net::Moved::State::blocked) break;
  }
  return scheduler_.now() < pending.limit;
}

void HandshakeHall::dropped(const Pending& pending, const std::string& why) const {
  if (!report_) return;
  const std::optional<Hello>& said = pending.handshake.peer();
  const std::string who = said ? fmt::format(" that says it is {}", name_of(said->rank)) : "";
  report_(fmt::format("dropped a connection from {}{}: {}", net::to_string(pending.from), who, why));
}

Hello introduce(net::SocketStream& stream, const Hello& mine, const std::string& secret,
                base::Deadline& deadline) {
  Handshake handshake(Handshake::Role::opener, mine, secret);
  for (;;) {
    switch (drive(handshake, stream)) {
      case Turn::closed:
        throw base::Problem(ErrorKind::disconnected, mine.to, "the other side hung up during the handshake");
      case Turn::over: {
        if (handshake.state() == Handshake::State::done) return *handshake.peer();
        const Refusal& refusal = handshake.refusal();
        throw base::Problem(ErrorKind::unavailable, mine.to,
                            (handshake.refused_by_peer() ? "refused: " : "") + refusal.text);
      }
      case Turn::waits:
        break;  // the acceptor's alone
      case Turn::blocked: {
        const auto what = handshake.outgoing().empty() ? net::Ready::read : net::Ready::write;
        if (!net::wait_ready(stream.fd(), what, deadline))
          throw base::Problem(ErrorKind::timed_out, mine.to, "no answer to the handshake at the limit");
      }
    }
  }
}

}  // namespace rondo::control
