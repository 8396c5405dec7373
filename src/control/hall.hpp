#pragma once
/// Where connections wait until their handshakes are over: many side by side, none for long.

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.hpp"
#include "control/handshake.hpp"
#include "net/socket.hpp"

namespace rondo::control {

/// Drives the acceptor's side of handshakes over sockets. Strangers (garbage, silence, scanners) are dropped
/// and reported; they delay nobody: when all places are taken, whoever has been silent longest makes room.
/// One thread at a time; never waits.
class HandshakeHall {
 public:
  struct Options {
    std::size_t most_pending = 64;
    base::Duration limit = std::chrono::seconds(2);  ///< of each handshake
  };
  /// Whether somebody who has proved to belong to the job is let in now: Why::none for yes.
  using Judge = std::function<Refusal(const Hello& guest)>;
  /// Takes a line about a connection that was dropped.
  using Report = std::function<void(const std::string& line)>;

  struct Guest {
    net::SocketStream stream;
    net::Address from;
    Hello hello;
  };
  /// Somebody who spoke the protocol and was refused, or refused us.
  struct Refused {
    net::Address from;
    std::optional<Hello> said;
    bool proven = false;  ///< what it said can be believed
    Refusal refusal;
  };

  HandshakeHall(const Identity& identity, base::Scheduler& scheduler, Judge judge, Report report)
      : HandshakeHall(identity, scheduler, std::move(judge), std::move(report), Options()) {}
  HandshakeHall(const Identity& identity, base::Scheduler& scheduler, Judge judge, Report report,
                const Options& options);

  /// Takes in all who wait at the listener, as far as there is room.
  void accept_from(net::Listener& listener);
  void take(base::Fd connection, const net::Address& from);
  /// There is a free place, or somebody silent who would make room.
  bool has_room() const noexcept;

  /// Adds what a poll should wait for.
  void append_to(std::vector<pollfd>& polled) const;
  /// When turn() is due although nothing was heard.
  base::TimePoint next_limit() const noexcept;
  /// Moves everything that can move; drops who is late.
  void turn();

  /// Those whose handshake is over, each once.
  std::vector<Guest> take_guests() { return std::exchange(guests_, {}); }
  std::vector<Refused> take_refused() { return std::exchange(refused_, {}); }
  std::size_t pending() const noexcept { return pending_.size(); }

 private:
  struct Pending {
    net::SocketStream stream;
    net::Address from;
    Handshake handshake;
    base::TimePoint limit;
    bool leaving = false;  ///< was told why; waits until it has read that
  };

  /// False when the connection needs no place any more.
  bool advance(Pending& pending);
  bool ended(Pending& pending);
  bool see_off(Pending& pending);
  void decide(Pending& pending);
  void dropped(const Pending& pending, const std::string& why) const;
  void make_room();

  Identity identity_;
  base::Scheduler& scheduler_;
  Judge judge_;
  Report report_;
  Options options_;
  std::vector<Pending> pending_;  // oldest first
  std::vector<Guest> guests_;
  std::vector<Refused> refused_;
};

/// The opener's side, waiting. Throws Problem(unavailable) with the other side's words when refused,
/// Problem(disconnected) when it hung up, Problem(timed_out) at the limit. Returns the acceptor's hello.
Hello introduce(net::SocketStream& stream, const Hello& mine, const std::string& secret,
                base::Deadline& deadline);

}  // namespace rondo::control
