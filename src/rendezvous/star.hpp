#pragma once
/// Rendezvous over TCP: one process serves, the others come to it. The server is rank 0 or the launcher.
///
/// Every rank sends its blob and gets all of them; the connections stay for further exchanges. Whatever
/// ends an exchange ends it on every rank that has joined, in the server's words.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "base/scheduler.hpp"
#include "control/handshake.hpp"
#include "net/socket.hpp"
#include "rendezvous/rendezvous.hpp"

namespace rondo::rendezvous {

struct StarOptions {
  base::Scheduler* scheduler = &base::real_scheduler();
  /// Takes a line about a connection that was dropped; empty: nobody is told.
  std::function<void(const std::string& line)> report = {};
  base::Duration handshake_limit = std::chrono::seconds(2);  ///< of each newcomer
  /// Ends an exchange of the server from outside. A descriptor that wakes the server when it is readable; -1:
  /// none.
  int stop = -1;
  /// Asked whenever the server has looked around, with how many ranks have joined; what it gives is thrown,
  /// here and on every rank that has joined. When it gives nothing, `stop` must not be readable any more.
  /// Empty: a readable `stop` is a Problem(aborted).
  std::function<std::optional<base::Problem>(std::size_t joined)> stop_reason = {};
};

/// Listeners on the addresses of a host, all on one port. Throws Problem(unavailable) when there is not at
/// least one.
std::vector<net::Listener> listen_at(const net::HostPort& where);

/// The middle. `who.rank` is 0, or control::no_rank for the launcher, which gets all blobs and brings none. A
/// second rank of one number, or one started with another size, ends the exchange at once, for all. Who
/// cannot be believed (another secret, job or version) is turned away, reported, and named should a rank be
/// missing at the limit.
std::unique_ptr<Rendezvous> serve_star(const control::Identity& who, std::vector<net::Listener> listeners,
                                       const StarOptions& options = {});

/// A point. Connects in its first exchange, trying until the limit: the server may come later.
std::unique_ptr<Rendezvous> join_star(const control::Identity& who, const net::HostPort& where,
                                      const StarOptions& options = {});

}  // namespace rondo::rendezvous
