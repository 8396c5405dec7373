#pragma once
/// Connections that this process opens without waiting for them: the other side of the hall.

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.hpp"
#include "control/handshake.hpp"
#include "net/socket.hpp"

namespace rondo::control {

/// Drives the opener's side of many connections, from the first packet to the welcome. Who hangs up during
/// the handshake (it was too slow for the other side, or too many came at once) is called again after a
/// pause, until the call is dropped. One thread at a time; never waits.
class Calls {
 public:
  /// A call that is over.
  struct Ended {
    std::uint64_t group;
    int rank;
    std::optional<net::SocketStream> stream;  ///< welcome; otherwise `why` says what went wrong
    std::string why;
  };

  Calls(const Identity& identity, base::Scheduler& scheduler) : identity_(identity), scheduler_(scheduler) {}

  /// Begins with the next turn().
  void start(Purpose purpose, std::uint64_t group, int rank, const net::Address& to);
  /// Hangs up all that is under way for this group. True when there was any: who polls for it must stop, or
  /// the other side does not see it.
  bool drop(std::uint64_t group);

  /// Adds what a poll should wait for.
  void append_to(std::vector<pollfd>& polled) const;
  /// When turn() is due although nothing was heard.
  base::TimePoint next_turn() const noexcept;
  /// Moves everything that can move. Returns what is over, each once.
  std::vector<Ended> turn();
  std::size_t pending() const noexcept { return pending_.size(); }

 private:
  struct Attempt {
    net::SocketStream stream;
    Handshake handshake;
    bool connected = false;
  };
  struct Call {
    Purpose purpose;
    std::uint64_t group;
    int rank;
    net::Address to;
    base::TimePoint next;            // when the next attempt begins
    base::Duration pause;            // after the one that fails next
    std::optional<Attempt> attempt;  // under way
  };

  void begin(Call& call) const;
  std::optional<Ended> advance(Call& call);
  std::optional<Ended> shake_hands(Call& call);

  Identity identity_;
  base::Scheduler& scheduler_;
  std::vector<Call> pending_;
};

}  // namespace rondo::control
