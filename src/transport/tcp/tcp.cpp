#include "transport/tcp/tcp.hpp"

#include <utility>

#include "transport/job_transport.hpp"

namespace rondo::transport::tcp {

namespace {

// How long the last handle of a group waits until the other side's system has what was written.
constexpr base::Duration closing_limit = std::chrono::seconds(1);

class TcpTransport final : public JobTransport {
 public:
  TcpTransport(const std::shared_ptr<Job>& job, std::uint64_t group, std::vector<int> members,
               Streams streams)
      : JobTransport(job, job->bell(), group, std::move(members), std::move(streams)) {
    enroll();
  }
  ~TcpTransport() override {
    settle();
    leave();
  }

  Backend kind() const noexcept override { return Backend::tcp; }

  std::unique_ptr<Transport> sub(const GroupId& id, std::span<const int> chosen) override {
    return part(id, chosen,
                [&](std::vector<int> ranks, base::Deadline& deadline, const control::Proceed& proceed) {
                  return connect(job(), id, std::move(ranks), deadline, proceed);
                });
  }

 private:
  // Closing a socket with unread bytes throws away what it has not delivered yet.
  void settle() const {
    base::Deadline deadline(base::real_scheduler(), closing_limit);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      settle(stream(peer, Lane::collective), deadline);
      settle(stream(peer, Lane::message), deadline);
    }
  }

  void settle(const net::Stream* wire, base::Deadline& deadline) const {
    if (wire == nullptr) return;
    base::Scheduler& clock = base::real_scheduler();
    const auto& socket = static_cast<const net::SocketStream&>(*wire);
    while (!failed() && !socket.acknowledged() && !deadline.expired()) {
      clock.sleep_until(clock.now() + std::chrono::milliseconds(1));
    }
  }
};

FramedTransport::Streams connect_collectives(Job& job, std::uint64_t group, const std::vector<int>& members,
                                             base::Deadline& deadline, const control::Proceed& proceed) {
  FramedTransport::Streams streams(members.size());
  for (std::size_t at = 0; at < members.size(); ++at) {
    if (members[at] == job.rank()) continue;
    streams[at][static_cast<std::size_t>(Lane::collective)] = std::make_unique<net::SocketStream>(
        job.link(control::Purpose::collective_lane, group, members[at], deadline, proceed));
  }
  return streams;
}

}  // namespace

std::unique_ptr<Transport> connect(const std::shared_ptr<Job>& job, const GroupId& id,
                                   std::vector<int> members, base::Deadline& deadline,
                                   const control::Proceed& proceed) {
  const std::uint64_t group = hash_of(id);
  try {
    auto streams = connect_collectives(*job, group, members, deadline, proceed);
    return std::make_unique<TcpTransport>(job, group, std::move(members), std::move(streams));
  } catch (...) {
    job->watcher().withdraw(group);  // what others have connected for it
    throw;
  }
}

}  // namespace rondo::transport::tcp
