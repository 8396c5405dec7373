#include "backend/tcp_jobs.hpp"

#include <exception>
#include <mutex>
#include <numeric>

#include "net/address.hpp"
#include "rendezvous/local.hpp"

namespace rondo::backend {

using transport::tcp::Node;

std::shared_ptr<GroupBackend> join_tcp(const std::shared_ptr<Node>& node, const Config& config) {
  std::vector<int> everybody(static_cast<std::size_t>(node->size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  auto wires = node->connect({}, std::move(everybody));
  auto engine = std::make_shared<Engine>(node->bell(), node->ranks_here(), config, node);
  return make_mesh(std::move(engine), std::move(wires), {});
}

std::vector<std::shared_ptr<GroupBackend>> tcp_group(int size, const Config& config) {
  const net::Address loopback = net::resolve({"127.0.0.1", 0}).front();
  const auto ends = rendezvous::make_local(size, base::real_scheduler());
  std::vector<std::shared_ptr<GroupBackend>> groups(static_cast<std::size_t>(size));
  std::exception_ptr first;
  std::mutex mutex;
  std::vector<base::Thread> joining;
  for (int rank = 0; rank < size; ++rank) {
    joining.push_back(base::real_scheduler().spawn([&, rank] {
      try {
        control::Identity identity;
        identity.rank = rank;
        identity.size = size;
        const auto at = static_cast<std::size_t>(rank);
        groups[at] = join_tcp(Node::join(identity, config, *ends[at], loopback), config);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    }));
  }
  for (base::Thread& each : joining) each.join();
  if (first) std::rethrow_exception(first);
  return groups;
}

}  // namespace rondo::backend
