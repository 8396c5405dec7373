#include "transport/tcp/tcp.hpp"

#include <utility>

#include "transport/job_transport.hpp"

namespace rondo::transport::tcp {

namespace {

// How long the last handle of a group waits until the other side's system has what was written.
constexpr base::Duration closing_limit = std::chrono::seconds(1);

std::vector<const net::SocketStream*> sockets_of(const FramedTransport::Streams& streams) {
  std::vector<const net::SocketStream*> sockets;
  for (const auto& lanes : streams) {
    for (const auto& each : lanes) {
      if (each) sockets.push_back(static_cast<const net::SocketStream*>(each.get()));
    }
  }
  return sockets;
}

class TcpTransport final : public JobTransport {
 public:
  TcpTransport(const std::shared_ptr<Job>& job, std::uint64_t group, std::vector<int> members,
               std::vector<const net::SocketStream*> sockets, Streams streams)
      : JobTransport(job, job->bell(), group, std::move(members), std::move(streams)),
        sockets_(std::move(sockets)) {
    enroll();
  }
  ~TcpTransport() override {
    settle();
    leave();
  }

  Backend kind() const noexcept override { return Backend::tcp; }

  std::unique_ptr<Transport> sub(const GroupId& id, std::span<const int> chosen) override {
    return connect(job(), id, members_of(chosen));
  }

 private:
  // Closing a socket with unread bytes throws away what it has not delivered yet.
  void settle() const {
    base::Scheduler& clock = base::real_scheduler();
    base::Deadline deadline(clock, closing_limit);
    for (const net::SocketStream* each : sockets_) {
      while (!failed() && !each->acknowledged() && !deadline.expired()) {
        clock.sleep_until(clock.now() + std::chrono::milliseconds(1));
      }
    }
  }

  std::vector<const net::SocketStream*> sockets_;
};

}  // namespace

std::unique_ptr<Transport> connect(const std::shared_ptr<Job>& job, const GroupId& id,
                                   std::vector<int> members) {
  base::Deadline deadline(base::real_scheduler(), job->config().timeout);
  const std::uint64_t group = hash_of(id);
  FramedTransport::Streams streams(members.size());
  for (std::size_t at = 0; at < members.size(); ++at) {
    if (members[at] == job->rank()) continue;
    constexpr control::Purpose purposes[] = {control::Purpose::collective_lane,
                                             control::Purpose::message_lane};
    for (std::size_t lane = 0; lane < std::size(purposes); ++lane) {
      streams[at][lane] =
          std::make_unique<net::SocketStream>(job->link(purposes[lane], group, members[at], deadline));
    }
  }
  auto sockets = sockets_of(streams);
  return std::make_unique<TcpTransport>(job, group, std::move(members), std::move(sockets),
                                        std::move(streams));
}

}  // namespace rondo::transport::tcp
