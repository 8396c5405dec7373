#pragma once
/// One thread per process that sees failure and lets others in: it sleeps in poll() on a control connection
/// per peer process, on the processes of this host themselves, and on the listeners. It never touches
/// payload.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/deadline.hpp"
#include "base/scheduler.hpp"
#include "control/hall.hpp"
#include "net/socket.hpp"
#include "rondo/error.hpp"

namespace rondo::control {

/// A group as the watcher sees it. Called from the watcher's thread, with no lock of the watcher held but its
/// table's.
class Watched {
 public:
  virtual ~Watched() = default;
  /// A member ended the group, with its cause.
  virtual void ended(const Failure& cause) = 0;
  /// The process of `peer` (a rank of the job, or no_rank for the launcher) is gone without a word.
  virtual void lost(int peer, const std::string& text) = 0;
};

class Watcher {
 public:
  /// `report` takes a line about strangers.
  Watcher(const Identity& identity, std::vector<net::Listener> listeners, HandshakeHall::Report report);
  ~Watcher();

  /// The connection that `rank` opens to this process for this purpose and group; waits until it has come.
  /// Throws Problem(timed_out).
  net::SocketStream await(Purpose purpose, std::uint64_t group, int rank, base::Deadline& deadline);
  /// The control connection with `rank` (or the launcher); from now on its death is seen. Over a local
  /// socket the process itself is watched too: children of it that live on do not hide its end.
  void watch(int rank, net::SocketStream connection);
  /// For the launcher: from now on the control connection of every rank is watched as soon as it comes; a
  /// newer one takes the place of the last.
  void watch_all_who_come();
  /// For the launcher, who knows first: tells all who are watched that `rank` is gone, and why.
  void tell_lost(int rank, std::string_view why);

  /// From now on `group` hears what concerns it; also what had come before it enrolled.
  void enroll(std::uint64_t group, Watched& watched);
  /// After this returns, `watched` is called no more.
  void withdraw(std::uint64_t group);
  /// Tells these ranks of the job why the group has ended. Any thread; does not wait.
  void announce(std::uint64_t group, std::span<const int> ranks, const Failure& cause);

 private:
  struct Peer;
  using Key = std::tuple<Purpose, std::uint64_t, int>;

  void run();
  void hear(Peer& peer);
  void obey(Peer& peer, std::span<const std::byte> frame);
  void send(Peer& peer, std::span<const std::byte> frame);
  void flush(Peer& peer);
  void ended(Peer& peer, const std::string& why);
  void gone(Peer& peer, const std::string& why);

  Identity identity_;
  std::vector<net::Listener> listeners_;
  HandshakeHall hall_;
  base::Event wake_;     // rung to end the thread's poll
  base::Event arrived_;  // rung when a connection has come
  mutable std::mutex mutex_;
  std::map<Key, net::SocketStream> waiting_;
  bool watches_all_ = false;
  std::map<int, std::unique_ptr<Peer>> peers_;
  std::map<std::uint64_t, Watched*> groups_;
  std::deque<std::pair<std::uint64_t, Failure>>
      early_;  // causes of groups that have not enrolled yet, newest last
  std::atomic<bool> over_{false};
  base::Thread thread_;
};

}  // namespace rondo::control
