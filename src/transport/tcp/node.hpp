#pragma once
/// This process's place in a job over TCP: whom it knows, and the watcher.

#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "base/scheduler.hpp"
#include "control/watcher.hpp"
#include "net/address.hpp"
#include "rendezvous/rendezvous.hpp"
#include "rondo/config.hpp"
#include "transport/transport.hpp"

namespace rondo::transport::tcp {

class Node : public std::enable_shared_from_this<Node> {
 public:
  /// Meets the others over `rendezvous` and makes a control connection with each. `here` is the address that
  /// the others are told. Throws Problem: timed_out, unavailable, mismatch (settings that touch the protocol
  /// differ; an address that others cannot reach).
  static std::shared_ptr<Node> join(const control::Identity& identity, const Config& config,
                                    rendezvous::Rendezvous& rendezvous, const net::Address& here);

  int rank() const noexcept { return identity_.rank; }
  int size() const noexcept { return identity_.size; }
  base::Event& bell() noexcept { return bell_; }
  control::Watcher& watcher() noexcept { return *watcher_; }
  /// True when that rank told the same host's address as this one.
  bool is_here(int rank) const noexcept;
  int ranks_here() const noexcept;

  /// Wires of a group of some of the job's ranks, in the group's order, this one included.
  std::unique_ptr<Transport> connect(const GroupId& id, std::vector<int> members);

 private:
  Node(const control::Identity& identity, const Config& config, net::Listener listener);
  void meet(rendezvous::Rendezvous& rendezvous, const net::Address& mine, base::Deadline& deadline);
  net::SocketStream link(control::Purpose purpose, std::uint64_t group, int peer, base::Deadline& deadline);

  control::Identity identity_;
  Config config_;
  base::Event bell_;
  std::vector<net::Address> addresses_;  // by rank
  std::unique_ptr<control::Watcher> watcher_;
};

/// Joins the job that `config` describes: a star at RONDO_RENDEZVOUS ("host:port"), served by rank 0.
std::shared_ptr<Node> join_job(const Config& config);

}  // namespace rondo::transport::tcp
