#include "transport/tcp/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/problem.hpp"
#include "net/interface.hpp"
#include "rendezvous/file.hpp"
#include "rendezvous/star.hpp"
#include "transport/tcp/tcp.hpp"

namespace rondo::transport::tcp {

namespace {

std::uint64_t hash_of(std::span<const std::byte> bytes) { return payload_hash(bytes); }

// What must be equal on all ranks, in words.
std::string protocol_settings(const Config& config) {
  return fmt::format("RONDO_CHECK={}{}{} RONDO_EAGER_BYTES={} RONDO_CREDIT_BYTES={}",
                     config.check_agreement ? "agreement" : "",
                     config.check_agreement && config.check_payload ? "," : "",
                     config.check_payload ? "payload" : "", config.eager_bytes, config.credit_bytes);
}

bool same_host(net::Address a, net::Address b) {
  a.set_port(0);
  b.set_port(0);
  return a == b;
}

// The address that others are told: what RONDO_INTERFACE chooses; else where packets to the root leave from
// (for the root its own); else, where there is no root or it is no single address, the first that is not for
// this host alone.
net::Address own_address(const Config& config, const std::optional<net::Address>& root) {
  if (config.interface.empty() && root && !root->is_any()) {
    net::Address here = *config.rank == 0 ? *root : net::route_to(*root);
    here.set_port(0);
    return here;
  }
  const auto chosen = net::choose(net::list_interfaces(), config.interface);
  std::optional<net::Address> fallback;
  for (const net::Interface& each : chosen) {
    if (!each.up || (root && each.address.family() != root->family())) continue;
    // A link-local address is no good to whoever is on another link.
    if (!each.loopback && each.address.scope() == 0) return each.address;
    if (!fallback) fallback = each.address;
  }
  if (!fallback) {
    throw base::Problem(
        ErrorKind::unavailable, -1,
        fmt::format("no interface that RONDO_INTERFACE=\"{}\" allows is up", config.interface));
  }
  return *fallback;
}

}  // namespace

Node::Node(const control::Identity& identity, const Config& config, net::Listener listener)
    : identity_(identity), config_(config), bell_(base::real_scheduler()) {
  const base::Log log(config.log);
  watcher_ = std::make_unique<control::Watcher>(identity, std::move(listener),
                                                [log](const std::string& line) { log.warn(line); });
}

std::shared_ptr<Node> Node::join(const control::Identity& identity, const Config& config,
                                 rendezvous::Rendezvous& rendezvous, const net::Address& here) {
  base::Deadline deadline(base::real_scheduler(), config.init_timeout);
  net::Listener listener(here);
  const net::Address mine = listener.bound();
  std::shared_ptr<Node> node(new Node(identity, config, std::move(listener)));
  node->meet(rendezvous, mine, deadline);
  for (int peer = 0; peer < identity.size; ++peer) {
    if (peer == identity.rank) continue;
    node->watcher_->watch(peer, node->link(control::Purpose::control, 0, peer, deadline));
  }
  return node;
}

void Node::meet(rendezvous::Rendezvous& rendezvous, const net::Address& mine, base::Deadline& deadline) {
  const std::string settings = protocol_settings(config_);
  const auto all = rendezvous.exchange(to_string(mine) + "\n" + settings, deadline);
  for (int rank = 0; rank < size(); ++rank) {
    const std::string& blob = all[static_cast<std::size_t>(rank)];
    const std::size_t end = blob.find('\n');
    if (end == std::string::npos) {
      throw base::Problem(ErrorKind::unavailable, rank, fmt::format("rank {} brought no address", rank));
    }
    if (const std::string theirs = blob.substr(end + 1); theirs != settings) {
      throw base::Problem(
          ErrorKind::mismatch, rank,
          fmt::format("rank {} has {}, rank {} has {}", this->rank(), settings, rank, theirs));
    }
    addresses_.push_back(net::resolve(net::parse_host_port(blob.substr(0, end))).front());
  }
  for (int rank = 0; rank < size(); ++rank) {
    const net::Address& theirs = addresses_[static_cast<std::size_t>(rank)];
    if (theirs.is_loopback() == mine.is_loopback()) continue;
    throw base::Problem(
        ErrorKind::unavailable, rank,
        fmt::format(
            "rank {} is at {}, rank {} at {}: only one of them is a loopback address, so they cannot meet",
            this->rank(), to_string(mine), rank, to_string(theirs)));
  }
}

// The higher rank calls, the lower one is called.
net::SocketStream Node::link(control::Purpose purpose, std::uint64_t group, int peer,
                             base::Deadline& deadline) {
  if (peer > rank()) return watcher_->await(purpose, group, peer, deadline);
  net::SocketStream stream(net::connect(addresses_[static_cast<std::size_t>(peer)], deadline));
  control::Hello hello = control::hello_of(identity_, purpose);
  hello.to = peer;
  hello.group = group;
  control::introduce(stream, hello, identity_.secret, deadline);
  return stream;
}

bool Node::is_here(int rank) const noexcept {
  return same_host(addresses_[static_cast<std::size_t>(rank)],
                   addresses_[static_cast<std::size_t>(identity_.rank)]);
}

int Node::ranks_here() const noexcept {
  int count = 0;
  for (int rank = 0; rank < size(); ++rank) count += is_here(rank) ? 1 : 0;
  return count;
}

std::unique_ptr<Transport> Node::connect(const GroupId& id, std::vector<int> members) {
  base::Deadline deadline(base::real_scheduler(), config_.timeout);
  const std::uint64_t group = hash_of(std::as_bytes(std::span(id)));
  FramedTransport::Streams streams(members.size());
  for (std::size_t at = 0; at < members.size(); ++at) {
    if (members[at] == rank()) continue;
    constexpr control::Purpose purposes[] = {control::Purpose::collective_lane,
                                             control::Purpose::message_lane};
    for (std::size_t lane = 0; lane < std::size(purposes); ++lane) {
      streams[at][lane] =
          std::make_unique<net::SocketStream>(link(purposes[lane], group, members[at], deadline));
    }
  }
  return make_tcp(shared_from_this(), group, std::move(members), std::move(streams));
}

std::shared_ptr<Node> join_job(const Config& config) {
  constexpr std::string_view file = "file:";
  control::Identity identity;
  identity.rank = *config.rank;
  identity.size = *config.size;
  const std::uint64_t job = hash_of(std::as_bytes(std::span(config.rendezvous)));
  std::memcpy(identity.job.data(), &job, sizeof(job));
  if (config.rendezvous.starts_with(file)) {
    const auto files =
        rendezvous::join_files(identity, config.rendezvous.substr(file.size()), base::real_scheduler());
    return Node::join(identity, config, *files, own_address(config, {}));
  }
  const net::HostPort where = net::parse_host_port(config.rendezvous);
  const net::Address root = net::resolve(where).front();
  rendezvous::StarOptions options;
  const base::Log log(config.log);
  options.report = [log](const std::string& line) { log.warn(line); };
  const auto star = identity.rank == 0
                        ? rendezvous::serve_star(identity, rendezvous::listen_at(where), options)
                        : rendezvous::join_star(identity, where, options);
  return Node::join(identity, config, *star, own_address(config, root));
}

}  // namespace rondo::transport::tcp
