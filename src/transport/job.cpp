#include "transport/job.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/log.hpp"
#include "base/problem.hpp"
#include "net/interface.hpp"
#include "net/local.hpp"
#include "rendezvous/file.hpp"
#include "rendezvous/star.hpp"
#include "transport/header.hpp"

namespace rondo::transport {

namespace {

// What the ranks compare of a tuning: its bytes. That it can be read has been seen before.
std::string tuning_mark(const std::string& path) {
  if (path.empty()) return "none";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return fmt::format("{:016x}", payload_hash(std::as_bytes(std::span(text))));
}

// What must be equal on all ranks, in words.
std::string protocol_settings(const Config& config) {
  return fmt::format(
      "RONDO_BACKEND={} RONDO_CHECK={}{}{} RONDO_EAGER_BYTES={} RONDO_CREDIT_BYTES={} "
      "RONDO_ARENA_BYTES={} RONDO_SINGLE_COPY_BYTES={} RONDO_TUNING={}",
      to_string(config.backend), config.check_agreement ? "agreement" : "",
      config.check_agreement && config.check_payload ? "," : "", config.check_payload ? "payload" : "",
      config.eager_bytes, config.credit_bytes, config.arena_bytes, config.single_copy_bytes,
      tuning_mark(config.tuning));
}

// The launcher serves the rendezvous, else rank 0.
bool serves(const Config& config) { return *config.rank == 0 && config.launcher.empty(); }

// The address that others are told: what RONDO_INTERFACE chooses; else where packets to the root leave from
// (for the root its own); else, where there is no root or it is no single address, the first that is not for
// this host alone.
net::Address own_address(const Config& config, const std::optional<net::Address>& root) {
  if (config.interface.empty() && root && !root->is_any()) {
    net::Address here = serves(config) ? *root : net::route_to(*root);
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

std::string random_name() {
  std::string name = "rondo-";
  for (const std::byte each : control::random_nonce())
    name += fmt::format("{:02x}", std::to_integer<int>(each));
  return name;
}

control::Identity identity_of(const Config& config) {
  control::Identity identity;
  identity.rank = *config.rank;
  identity.size = *config.size;
  identity.job = control::job_of(config.rendezvous);
  identity.secret = control::read_secret(config);
  return identity;
}

// A listener of this host alone, and its name; nothing where the system has none.
std::string listen_locally(std::vector<net::Listener>& listeners) {
  const std::string name = random_name();
  try {
    listeners.emplace_back(net::local_name(name));
  } catch (const base::Problem&) {
    return {};
  }
  return name;
}

}  // namespace

std::uint64_t hash_of(const std::vector<std::uint64_t>& group_id) {
  return payload_hash(std::as_bytes(std::span(group_id)));
}

Job::Job(const control::Identity& identity, const Config& config)
    : identity_(identity), config_(config), bell_(base::real_scheduler()) {}

std::shared_ptr<Job> Job::join(const control::Identity& identity, const Config& config,
                               rendezvous::Rendezvous& rendezvous, const net::Address& here,
                               base::Deadline& deadline) {
  std::shared_ptr<Job> job(new Job(identity, config));
  job->meet(rendezvous, here, deadline);
  job->connect_all(deadline);
  job->compare_views(rendezvous, deadline);
  job->greet_launcher(deadline);
  return job;
}

// A line each: address, local name, settings.
void Job::meet(rendezvous::Rendezvous& rendezvous, const net::Address& here, base::Deadline& deadline) {
  std::vector<net::Listener> listeners;
  listeners.emplace_back(here);
  const net::Address mine = listeners.front().bound();
  const std::string local = listen_locally(listeners);
  const base::Log log(config_.log);
  watcher_ = std::make_unique<control::Watcher>(identity_, std::move(listeners),
                                                [log](const std::string& line) { log.warn(line); });
  const std::string settings = protocol_settings(config_);
  const auto all = rendezvous.exchange(fmt::format("{}\n{}\n{}", to_string(mine), local, settings), deadline);
  for (int rank = 0; rank < size(); ++rank) {
    std::istringstream lines(all[static_cast<std::size_t>(rank)]);
    std::string address;
    std::string theirs;
    Place place;
    if (!std::getline(lines, address) || !std::getline(lines, place.local) || !std::getline(lines, theirs)) {
      throw base::Problem(ErrorKind::unavailable, rank, fmt::format("rank {} brought no address", rank));
    }
    if (theirs != settings) {
      throw base::Problem(
          ErrorKind::mismatch, rank,
          fmt::format("rank {} has {}, rank {} has {}", this->rank(), settings, rank, theirs));
    }
    place.address = net::resolve(net::parse_host_port(address)).front();
    if (place.address.is_loopback() != mine.is_loopback()) {
      throw base::Problem(
          ErrorKind::unavailable, rank,
          fmt::format(
              "rank {} is at {}, rank {} at {}: only one of them is a loopback address, so they cannot meet",
              this->rank(), to_string(mine), rank, to_string(place.address)));
    }
    places_.push_back(std::move(place));
  }
}

net::SocketStream Job::call(const net::Address& to, control::Purpose purpose, std::uint64_t group, int peer,
                            base::Deadline& deadline) {
  try {
    net::SocketStream stream(net::connect_to_listening(to, deadline));
    introduce(stream, purpose, group, peer, deadline);
    return stream;
  } catch (const base::Problem& problem) {
    if (problem.kind() != ErrorKind::disconnected) throw;
    throw base::Problem(ErrorKind::disconnected, peer,
                        fmt::format("{} is gone: {}", control::name_of(peer), problem.what()));
  }
}

void Job::introduce(net::SocketStream& stream, control::Purpose purpose, std::uint64_t group, int peer,
                    base::Deadline& deadline) const {
  control::Hello hello = control::hello_of(identity_, purpose);
  hello.to = peer;
  hello.group = group;
  control::introduce(stream, hello, identity_.secret, deadline);
}

net::SocketStream Job::link(control::Purpose purpose, std::uint64_t group, int peer, base::Deadline& deadline,
                            const control::Proceed& proceed) {
  if (peer > rank()) return watcher_->await(purpose, group, peer, deadline, proceed);
  return call(places_[static_cast<std::size_t>(peer)].address, purpose, group, peer, deadline);
}

net::SocketStream Job::local_link(control::Purpose purpose, std::uint64_t group, int peer,
                                  base::Deadline& deadline, const control::Proceed& proceed) {
  if (peer > rank()) return watcher_->await(purpose, group, peer, deadline, proceed);
  return call(net::local_name(places_[static_cast<std::size_t>(peer)].local), purpose, group, peer, deadline);
}

// Nothing when that rank is not reached like this: it is on another host, or in a network namespace of its
// own. Its name is random, so nobody else answers to it.
std::optional<net::SocketStream> Job::call_locally(int peer, base::Deadline& deadline) {
  const std::string& name = places_[static_cast<std::size_t>(peer)].local;
  if (name.empty()) return std::nullopt;
  base::Fd fd = net::connect_locally(name, deadline);
  if (!fd) return std::nullopt;
  net::SocketStream stream(std::move(fd));
  introduce(stream, control::Purpose::control, 0, peer, deadline);
  return stream;
}

void Job::connect_all(base::Deadline& deadline) {
  local_.assign(static_cast<std::size_t>(size()), false);
  local_[static_cast<std::size_t>(rank())] = true;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    std::optional<net::SocketStream> stream;
    if (peer < rank()) stream = call_locally(peer, deadline);
    if (!stream) stream = link(control::Purpose::control, 0, peer, deadline);
    local_[static_cast<std::size_t>(peer)] = net::is_local(stream->fd());
    watcher_->watch(peer, *std::move(stream), places_[static_cast<std::size_t>(peer)].address);
  }
}

// Everybody tells whom it reached locally.
void Job::compare_views(rendezvous::Rendezvous& rendezvous, base::Deadline& deadline) {
  std::string mine;
  for (const bool each : local_) mine += each ? '1' : '0';
  const auto all = rendezvous.exchange(mine, deadline);
  for (int from = 0; from < size(); ++from) {
    const std::size_t to = all[static_cast<std::size_t>(from)].find('0');
    if (to == std::string::npos) continue;
    apart_ = fmt::format("rank {} does not reach rank {} on a local socket", from, to);
    return;
  }
}

void Job::greet_launcher(base::Deadline& deadline) {
  if (config_.launcher.empty()) return;
  const net::Address where = net::resolve(net::parse_host_port(config_.launcher)).front();
  watcher_->watch(control::no_rank, call(where, control::Purpose::control, 0, control::no_rank, deadline));
}

std::vector<int> Job::everybody() const {
  std::vector<int> ranks(static_cast<std::size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int Job::ranks_here() const noexcept {
  return static_cast<int>(std::count(local_.begin(), local_.end(), true));
}

std::shared_ptr<Job> Job::join(const Config& config, const rendezvous::Callback& exchange,
                               base::Deadline& deadline) {
  const control::Identity identity = identity_of(config);
  const auto meeting = rendezvous::join_callback(identity.rank, identity.size, exchange);
  return join(identity, config, *meeting, own_address(config, {}), deadline);
}

std::shared_ptr<Job> Job::join(const Config& config, base::Deadline& deadline) {
  constexpr std::string_view file = "file:";
  const control::Identity identity = identity_of(config);
  if (config.rendezvous.starts_with(file)) {
    const auto files =
        rendezvous::join_files(identity, config.rendezvous.substr(file.size()), base::real_scheduler());
    return join(identity, config, *files, own_address(config, {}), deadline);
  }
  const net::HostPort where = net::parse_host_port(config.rendezvous);
  const net::Address root = net::resolve(where).front();
  rendezvous::StarOptions options;
  const base::Log log(config.log);
  options.report = [log](const std::string& line) { log.warn(line); };
  const auto star = serves(config) ? rendezvous::serve_star(identity, rendezvous::listen_at(where), options)
                                   : rendezvous::join_star(identity, where, options);
  return join(identity, config, *star, own_address(config, root), deadline);
}

}  // namespace rondo::transport
