#pragma once
/// This process's place in a job: whom it knows, who is on the same host, and the watcher.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/scheduler.hpp"
#include "control/watcher.hpp"
#include "net/address.hpp"
#include "rendezvous/callback.hpp"
#include "rendezvous/rendezvous.hpp"
#include "rondo/config.hpp"

namespace rondo::transport {

class Job {
 public:
  /// Meets the others over `rendezvous` (two exchanges), makes a control connection with each and with the
  /// launcher where there is one. `here` is the address that the others are told. Throws Problem: timed_out,
  /// unavailable, mismatch (settings that touch the protocol differ; an address that others cannot reach).
  static std::shared_ptr<Job> join(const control::Identity& identity, const Config& config,
                                   rendezvous::Rendezvous& rendezvous, const net::Address& here,
                                   base::Deadline& deadline);
  /// The job that `config` describes: at RONDO_RENDEZVOUS a directory, or a star served by the launcher,
  /// else by rank 0.
  static std::shared_ptr<Job> join(const Config& config, base::Deadline& deadline);
  /// The same over an exchange that the caller brings. `config.rendezvous` only names the job then.
  static std::shared_ptr<Job> join(const Config& config, const rendezvous::Callback& exchange,
                                   base::Deadline& deadline);

  int rank() const noexcept { return identity_.rank; }
  int size() const noexcept { return identity_.size; }
  /// All ranks, in order.
  std::vector<int> everybody() const;
  const Config& config() const noexcept { return config_; }
  control::Watcher& watcher() noexcept { return *watcher_; }
  /// What the process's waiters sleep on, where nobody else needs to reach it.
  base::Event& bell() noexcept { return bell_; }

  /// True when that rank is on this host, by evidence: it answered on a local socket.
  bool is_here(int rank) const noexcept { return local_[static_cast<std::size_t>(rank)]; }
  int ranks_here() const noexcept;
  /// Empty when every rank reaches every other on a local socket; otherwise a pair that does not, in words.
  /// The same on all ranks.
  const std::string& apart() const noexcept { return apart_; }

  /// A connection with `peer` for this purpose and group, over TCP: the higher rank calls, the lower one is
  /// called. Both must ask. Throws Problem; what `proceed` throws too.
  net::SocketStream link(control::Purpose purpose, std::uint64_t group, int peer, base::Deadline& deadline,
                         const control::Proceed& proceed = {});
  /// The same over a local socket, with a peer on this host.
  net::SocketStream local_link(control::Purpose purpose, std::uint64_t group, int peer,
                               base::Deadline& deadline, const control::Proceed& proceed = {});

 private:
  struct Place {
    net::Address address;
    std::string local;  // of its local listener; empty: it has none
  };

  Job(const control::Identity& identity, const Config& config);
  void meet(rendezvous::Rendezvous& rendezvous, const net::Address& here, base::Deadline& deadline);
  void connect_all(base::Deadline& deadline);
  void compare_views(rendezvous::Rendezvous& rendezvous, base::Deadline& deadline);
  void greet_launcher(base::Deadline& deadline);
  net::SocketStream call(const net::Address& to, control::Purpose purpose, std::uint64_t group, int peer,
                         base::Deadline& deadline);
  void introduce(net::SocketStream& stream, control::Purpose purpose, std::uint64_t group, int peer,
                 base::Deadline& deadline) const;
  std::optional<net::SocketStream> call_locally(int peer, base::Deadline& deadline);

  control::Identity identity_;
  Config config_;
  base::Event bell_;
  std::vector<Place> places_;  // by rank
  std::vector<bool> local_;    // by rank: reached over a local socket
  std::string apart_;
  std::unique_ptr<control::Watcher> watcher_;
};

/// Names a group in handshakes and to the watcher.
std::uint64_t hash_of(const std::vector<std::uint64_t>& group_id);

}  // namespace rondo::transport
