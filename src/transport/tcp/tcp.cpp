#include "transport/tcp/tcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace rondo::transport::tcp {

namespace {

// How long the end of a wire waits for the watcher to tell why: the first cause travels beside the wires.
constexpr base::Duration patience = std::chrono::milliseconds(200);
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

class TcpTransport final : public FramedTransport, private control::Watched {
 public:
  TcpTransport(std::shared_ptr<Node> node, std::uint64_t group, std::vector<int> members, int rank,
               Streams streams)
      : TcpTransport(std::move(node), group, std::move(members), rank, sockets_of(streams),
                     std::move(streams)) {}

  ~TcpTransport() override {
    settle();
    node_->watcher().withdraw(group_);
    close();
  }

  Backend kind() const noexcept override { return Backend::tcp; }
  int local_rank() const noexcept override {
    return static_cast<int>(std::count_if(members_.begin(), members_.begin() + rank(),
                                          [&](int member) { return node_->is_here(member); }));
  }
  int local_size() const noexcept override {
    return static_cast<int>(
        std::count_if(members_.begin(), members_.end(), [&](int member) { return node_->is_here(member); }));
  }

  void fail(const Failure& cause) override {
    if (!keep(cause)) return;
    node_->watcher().announce(group_, others(), cause);
  }
  bool failed() const noexcept override { return failed_.load(std::memory_order_acquire); }
  std::optional<Failure> failure() const override {
    std::lock_guard lock(mutex_);
    return failure_;
  }

  bool poll() override {
    const bool moved = FramedTransport::poll();
    if (suspicion_ && !failed() && base::real_scheduler().now() >= suspected_until_) {
      fail(*suspicion_);
      return true;
    }
    return moved;
  }
  using FramedTransport::poll;
  base::TimePoint next_turn() const override {
    return suspicion_ && !failed() ? suspected_until_ : base::never;
  }

  std::unique_ptr<Transport> sub(const GroupId& id, std::span<const int> chosen) override {
    std::vector<int> members;
    for (const int each : chosen) members.push_back(members_[static_cast<std::size_t>(each)]);
    return node_->connect(id, std::move(members));
  }

 private:
  TcpTransport(std::shared_ptr<Node> node, std::uint64_t group, std::vector<int> members, int rank,
               std::vector<const net::SocketStream*> sockets, Streams&& streams)
      : FramedTransport(rank, std::move(streams)),
        node_(std::move(node)),
        group_(group),
        members_(std::move(members)),
        sockets_(std::move(sockets)) {
    node_->watcher().enroll(group_, *this);
  }

  std::vector<int> others() const {
    std::vector<int> ranks(members_);
    std::erase(ranks, node_->rank());
    return ranks;
  }

  bool keep(const Failure& cause) {
    {
      std::lock_guard lock(mutex_);
      if (failure_) return false;
      failure_ = cause;
      failed_.store(true, std::memory_order_release);
    }
    node_->bell().ring();
    return true;
  }

  // A wire has ended. Who ended the group tells so beside the wires, and the death of a process is seen
  // there: a moment for that.
  void broken(const Failure& cause) override {
    if (suspicion_) return;
    suspicion_ = cause;
    suspected_until_ = base::real_scheduler().now() + patience;
  }

  void ended(const Failure& cause) override { keep(cause); }
  void lost(int peer, const std::string& text) override {
    const auto at = std::find(members_.begin(), members_.end(), peer);
    if (at == members_.end()) return;
    const auto member = static_cast<int>(at - members_.begin());
    keep(Failure{ErrorKind::disconnected, member, fmt::format("rank {} is gone: {}", member, text)});
  }

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

  std::shared_ptr<Node> node_;
  std::uint64_t group_;
  std::vector<int> members_;  // ranks of the job
  std::vector<const net::SocketStream*> sockets_;
  std::optional<Failure> suspicion_;
  base::TimePoint suspected_until_{};
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace

std::unique_ptr<Transport> make_tcp(std::shared_ptr<Node> node, std::uint64_t group, std::vector<int> members,
                                    FramedTransport::Streams streams) {
  const auto at = std::find(members.begin(), members.end(), node->rank()) - members.begin();
  return std::make_unique<TcpTransport>(std::move(node), group, std::move(members), static_cast<int>(at),
                                        std::move(streams));
}

}  // namespace rondo::transport::tcp
