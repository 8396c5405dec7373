#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/fd.hpp"
#include "control/hall.hpp"
#include "rendezvous/star.hpp"
#include "rendezvous/star_link.hpp"

namespace rondo::rendezvous {

namespace {

using base::Deadline;
using base::Problem;
using Kind = StarFrame::Kind;

class StarClient final : public Rendezvous {
 public:
  StarClient(const control::Identity& who, const net::HostPort& where, const StarOptions& options)
      : who_(who),
        where_(where),
        place_(fmt::format("the rendezvous at {}:{}", where.host, where.port)),
        scheduler_(*options.scheduler) {}

  std::vector<Blob> exchange(const Blob& mine, Deadline& deadline) override;

 private:
  void join(Deadline& deadline);
  /// False when there may be more luck later.
  bool try_each_address(Deadline& deadline);
  bool try_address(const net::Address& address, Deadline& deadline, bool only);
  std::optional<net::SocketStream> connect(const net::Address& address, Deadline& deadline, bool only);
  std::vector<Blob> collect(Deadline& deadline);
  void take(StarFrame frame, std::vector<Blob>& all);
  [[noreturn]] void hung_up() const;
  [[noreturn]] void leave();

  control::Identity who_;
  net::HostPort where_;
  std::string place_;
  base::Scheduler& scheduler_;
  std::optional<StarLink> link_;
  std::string obstacle_;          // why the last attempt to join failed
  std::optional<Problem> final_;  // an answer that another attempt would not change
  std::string roll_;              // who is there, as the server said last
  std::uint32_t exchange_ = 0;
  std::optional<Problem> failure_;
};

std::vector<Blob> StarClient::exchange(const Blob& mine, Deadline& deadline) {
  if (failure_) throw Problem(*failure_);
  if (mine.size() > most_blob_bytes)
    throw Problem(ErrorKind::invalid_argument, -1,
                  fmt::format("a blob of {} bytes, at most {} are exchanged", mine.size(), most_blob_bytes));
  try {
    (void)deadline.end();
    if (!link_) join(deadline);
    StarFrame frame;
    frame.exchange = ++exchange_;
    frame.rank = who_.rank;
    frame.words = mine;
    link_->put(frame);
    roll_.clear();
    return collect(deadline);
  } catch (const Problem& problem) {
    failure_ = problem;
    link_.reset();
    throw;
  }
}

void StarClient::join(Deadline& deadline) {
  constexpr base::Duration longest = std::chrono::milliseconds(200);
  base::Duration pause = std::chrono::milliseconds(1);
  while (!try_each_address(deadline)) {
    if (deadline.expired())
      throw Problem(ErrorKind::timed_out, 0,
                    fmt::format("rank {} cannot join {}: {}", who_.rank, place_, obstacle_));
    scheduler_.sleep_until(std::min(scheduler_.now() + pause, deadline.end()));
    pause = std::min(2 * pause, longest);
  }
}

bool StarClient::try_each_address(Deadline& deadline) {
  const std::vector<net::Address> addresses = net::resolve(where_);
  final_.reset();
  for (const net::Address& address : addresses)
    if (try_address(address, deadline, addresses.size() == 1)) return true;
  if (final_) throw Problem(*final_);
  return false;
}

bool StarClient::try_address(const net::Address& address, Deadline& deadline, bool only) {
  try {
    std::optional<net::SocketStream> stream = connect(address, deadline, only);
    if (!stream) return false;
    (void)control::introduce(*stream, control::hello_of(who_, control::Purpose::rendezvous), who_.secret,
                             deadline);
    link_.emplace(std::move(*stream));
    return true;
  } catch (const Problem& problem) {
    // It may have hung up because it was too busy, or about to end.
    obstacle_ = fmt::format("{}: {}", net::to_string(address), problem.what());
    if (problem.kind() != ErrorKind::disconnected)
      final_ =
          Problem(problem.kind(), 0, fmt::format("rank {} cannot join {}: {}", who_.rank, place_, obstacle_));
    return false;
  }
}

std::optional<net::SocketStream> StarClient::connect(const net::Address& address, Deadline& deadline,
                                                     bool only) {
  try {
    base::Fd fd = net::begin_connect(address);
    // One address that swallows everything must not use up the time of the others.
    constexpr base::Duration share = std::chrono::seconds(2);
    const base::Duration left = std::max(deadline.end() - scheduler_.now(), base::Duration::zero());
    Deadline mine(scheduler_, only ? left : std::min(left, share));
    int result = net::connect_result(fd.get());
    while (result == EINPROGRESS && net::wait_ready(fd.get(), net::Ready::write, mine))
      result = net::connect_result(fd.get());
    if (result == 0) return net::SocketStream(std::move(fd));
    obstacle_ = fmt::format("{}: {}", net::to_string(address),
                            result == EINPROGRESS ? "no answer" : base::error_words(result));
  } catch (const Problem& problem) {
    obstacle_ = problem.what();
  }
  return std::nullopt;
}

std::vector<Blob> StarClient::collect(Deadline& deadline) {
  std::vector<Blob> all;
  for (;;) {
    link_->turn();
    const auto size = static_cast<std::size_t>(who_.size);
    while (all.size() < size) {  // what comes after them is about the next exchange
      auto frame = link_->next();
      if (!frame) break;
      take(*std::move(frame), all);
    }
    if (all.size() == size) return all;
    if (link_->closed()) hung_up();
    if (deadline.expired()) leave();
    std::vector<pollfd> polled{link_->polled()};
    wait_for_any(polled, deadline.end(), scheduler_);
  }
}

void StarClient::take(StarFrame frame, std::vector<Blob>& all) {
  switch (frame.kind) {
    case Kind::blob:
      if (frame.exchange == exchange_ && frame.rank == static_cast<int>(all.size()) &&
          frame.rank < who_.size) {
        all.push_back(std::move(frame.words));
        return;
      }
      break;
    case Kind::roll:
      if (frame.exchange == exchange_) roll_ = std::move(frame.words);
      return;
    case Kind::failed:
      throw problem_of(frame);
    case Kind::leave:
      break;
  }
  throw Problem(ErrorKind::disconnected, 0, place_ + " broke the protocol");
}

void StarClient::hung_up() const {
  throw Problem(
      ErrorKind::disconnected, 0,
      fmt::format("{} closed the connection{}{}", place_, roll_.empty() ? "" : "; last heard: ", roll_));
}

void StarClient::leave() {
  StarFrame frame;
  frame.kind = Kind::leave;
  frame.exchange = exchange_;
  frame.rank = who_.rank;
  link_->put(frame);
  try {
    link_->turn();
  } catch (const Problem&) {
    // The limit has run out all the same.
  }
  throw Problem(ErrorKind::timed_out, 0,
                roll_.empty() ? fmt::format("{} takes no part in exchange {}", place_, exchange_) : roll_);
}

}  // namespace

std::unique_ptr<Rendezvous> join_star(const control::Identity& who, const net::HostPort& where,
                                      const StarOptions& options) {
  RONDO_INVARIANT(who.rank >= 0 && who.rank < who.size);
  return std::make_unique<StarClient>(who, where, options);
}

}  // namespace rondo::rendezvous
