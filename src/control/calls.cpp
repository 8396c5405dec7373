#include "control/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fd.hpp"
#include "base/problem.hpp"

namespace rondo::control {

namespace {

constexpr base::Duration first_pause = std::chrono::milliseconds(1);
constexpr base::Duration longest_pause = std::chrono::milliseconds(250);

}  // namespace

void Calls::start(Purpose purpose, std::uint64_t group, int rank, const net::Address& to) {
  pending_.push_back({purpose, group, rank, to, scheduler_.now(), first_pause, std::nullopt});
}

bool Calls::drop(std::uint64_t group) {
  return std::erase_if(pending_, [&](const Call& each) { return each.group == group; }) > 0;
}

void Calls::append_to(std::vector<pollfd>& polled) const {
  for (const Call& each : pending_) {
    if (!each.attempt) continue;
    const bool writes = !each.attempt->connected || !each.attempt->handshake.outgoing().empty();
    polled.push_back({each.attempt->stream.fd(), writes ? short{POLLOUT} : short{POLLIN}, 0});
  }
}

base::TimePoint Calls::next_turn() const noexcept {
  base::TimePoint next = base::never;
  for (const Call& each : pending_) {
    if (!each.attempt) next = std::min(next, each.next);
  }
  return next;
}

std::vector<Calls::Ended> Calls::turn() {
  std::vector<Ended> ended;
  std::erase_if(pending_, [&](Call& each) {
    std::optional<Ended> end = advance(each);
    if (end) ended.push_back(std::move(*end));
    return end.has_value();
  });
  return ended;
}

void Calls::begin(Call& call) const {
  Hello hello = hello_of(identity_, call.purpose);
  hello.to = call.rank;
  hello.group = call.group;
  call.attempt.emplace(Attempt{net::SocketStream(net::begin_connect(call.to)),
                               Handshake(Handshake::Role::opener, hello, identity_.secret)});
}

std::optional<Calls::Ended> Calls::advance(Call& call) {
  const auto failed = [&](const std::string& why) { return Ended{call.group, call.rank, std::nullopt, why}; };
  if (!call.attempt) {
    if (scheduler_.now() < call.next) return std::nullopt;
    try {
      begin(call);
    } catch (const base::Problem& problem) {
      return failed(problem.what());
    }
  }
  if (!call.attempt->connected) {
    const int result = net::connect_result(call.attempt->stream.fd());
    if (result == EINPROGRESS) return std::nullopt;
    if (result != 0)
      return failed(fmt::format("cannot connect to {}: {}", to_string(call.to), base::error_words(result)));
    call.attempt->connected = true;
  }
  return shake_hands(call);
}

std::optional<Calls::Ended> Calls::shake_hands(Call& call) {
  Attempt& attempt = *call.attempt;
  switch (drive(attempt.handshake, attempt.stream)) {
    case Turn::waits:  // the acceptor's alone
    case Turn::blocked:
      return std::nullopt;
    case Turn::closed:
      call.attempt.reset();
      call.next = scheduler_.now() + call.pause;
      call.pause = std::min(2 * call.pause, longest_pause);
      return std::nullopt;
    case Turn::over:
      break;
  }
  Ended end{call.group, call.rank, std::nullopt, attempt.handshake.refusal().text};
  if (attempt.handshake.state() == Handshake::State::done) end.stream = std::move(attempt.stream);
  return end;
}

}  // namespace rondo::control
