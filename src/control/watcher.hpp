#pragma once
/// One thread per process that sees failure, lets others in, and opens what is opened late: it sleeps in
/// poll() on a control connection per peer process, on the processes of this host themselves, on the
/// listeners, and on handshakes. It never touches payload.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/deadline.hpp"
#include "base/scheduler.hpp"
#include "control/calls.hpp"
#include "control/frames.hpp"
#include "control/hall.hpp"
#include "net/socket.hpp"
#include "rondo/error.hpp"

namespace rondo::control {

/// Asked while waiting for others; throws Problem when there is no use in it any more. May be empty.
using Proceed = std::function<void()>;

/// A group as the watcher sees it. Called from the watcher's thread, or from one that catches up, with no
/// lock of the watcher held but its table's.
class Watched {
 public:
  virtual ~Watched() = default;
  /// A member ended the group, with its cause.
  virtual void ended(const Failure& cause) = 0;
  /// The process of `peer` (a rank of the job, or no_rank for the launcher) is gone without a word.
  virtual void lost(int peer, const std::string& text) = 0;
  /// The message wire with this rank of the job is there, because one of the two has asked for it.
  virtual void connected(int peer, net::SocketStream stream) = 0;
  /// The message wire that was asked for cannot be made.
  virtual void unconnected(int peer, const std::string& why) = 0;
  /// `peer` leaves, and no message wire was made: no message came from it, and none will.
  virtual void left(int peer) = 0;
};

class Watcher {
 public:
  /// `report` takes a line about strangers.
  Watcher(const Identity& identity, std::vector<net::Listener> listeners, HandshakeHall::Report report);
  ~Watcher();

  /// The connection that `rank` opens to this process for this purpose and group; waits until it has come.
  /// Throws Problem(timed_out), which tells why connections were not let in, if that is so;
  /// Problem(disconnected) once that rank is gone, and the cause of another rank's for which there will be no
  /// such group.
  net::SocketStream await(Purpose purpose, std::uint64_t group, int rank, base::Deadline& deadline,
                          const Proceed& proceed = {});
  /// Those who wait ask again whether to proceed. Any thread; no lock.
  void wake_waiting() { arrived_.ring(); }
  /// The control connection with `rank` (or the launcher); from now on its death is seen. Over a local
  /// socket the process itself is watched too: children of it that live on do not hide its end. `listens` is
  /// where it can be called later.
  void watch(int rank, net::SocketStream connection, const net::Address& listens = {});
  /// For the launcher: from now on the control connection of every rank is watched as soon as it comes; a
  /// newer one takes the place of the last.
  void watch_all_who_come();
  /// For the launcher, who knows first: tells all who are watched that `rank` is gone, and why.
  void tell_lost(int rank, std::string_view why);

  /// From now on `group` hears what concerns it; also what had come before it enrolled.
  void enroll(std::uint64_t group, Watched& watched);
  /// After this returns, `watched` is called no more; connections of the group that nobody has taken, or that
  /// still come, are closed.
  void withdraw(std::uint64_t group);
  /// Makes the group's message wire with that rank, if nobody has begun to: the higher rank of the two calls,
  /// the lower one asks it to. The group is told on both sides. Any thread; does not wait.
  void want_wire(std::uint64_t group, int rank);
  /// Tells that rank that this one leaves the group without a message wire. Any thread; does not wait.
  void tell_left(std::uint64_t group, int rank);
  /// Hears what others have told by now, should the thread not have come to it. Any thread; does not wait.
  void catch_up();
  /// Tells these ranks of the job why the group has ended. Any thread; does not wait.
  void announce(std::uint64_t group, std::span<const int> ranks, const Failure& cause);

 private:
  struct Peer;
  using Key = std::tuple<Purpose, std::uint64_t, int>;

  void run();
  void throw_if_vain(std::uint64_t group, int rank) const;
  std::string let_in();
  std::string with_obstacle(const std::string& text) const;
  void hear(Peer& peer);
  void obey(Peer& peer, const ControlFrame& frame);
  void send(Peer& peer, std::span<const std::byte> frame);
  void flush(Peer& peer);
  void ended(Peer& peer, const std::string& why);
  void gone(Peer& peer, const std::string& why);
  void obey_cause(std::uint64_t group, const Failure& cause);
  void obey_wire(Peer& peer, bool wanted, std::uint64_t group);
  void call(std::uint64_t group, int rank);
  void take_in(HandshakeHall::Guest guest);
  void deliver(std::uint64_t group, int rank, net::SocketStream stream);
  void turn_calls();
  bool is_over(std::uint64_t group) const;

  Identity identity_;
  std::vector<net::Listener> listeners_;
  HandshakeHall hall_;
  base::Event wake_;     // rung to end the thread's poll
  base::Event arrived_;  // rung when a connection has come
  mutable std::mutex mutex_;
  std::map<Key, net::SocketStream> waiting_;
  Calls calls_;
  std::set<std::pair<std::uint64_t, int>> called_;      // group, rank: never twice
  std::set<std::pair<std::uint64_t, int>> early_left_;  // of groups that have not enrolled yet
  bool watches_all_ = false;
  std::string obstacle_;  // why connections are not let in now
  std::map<int, std::unique_ptr<Peer>> peers_;
  std::map<std::uint64_t, Watched*> groups_;
  std::deque<std::pair<std::uint64_t, Failure>>
      early_;                              // causes of groups that have not enrolled yet, newest last
  std::deque<std::uint64_t> over_groups_;  // have withdrawn, newest last
  std::atomic<bool> over_{false};
  base::Thread thread_;
};

}  // namespace rondo::control
