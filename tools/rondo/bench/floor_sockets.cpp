#include "bench/floor_sockets.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/deadline.hpp"
#include "bench/cores.hpp"
#include "bench/lockstep.hpp"
#include "net/socket.hpp"

namespace rondo::tools::bench {

namespace {

constexpr std::size_t stream_bytes = std::size_t{8} << 20;
constexpr std::size_t most_exchanged = std::size_t{512} << 20;
constexpr std::size_t stream_piece = std::size_t{64} << 10;  // stays in the cache

struct Ends {
  base::Fd first;
  base::Fd second;
};

void let_block(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
    throw std::runtime_error("a socket cannot be made blocking: " + base::error_words(errno));
}

Ends local_pair() {
  std::array<int, 2> made{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made.data()) != 0)
    throw std::runtime_error("no pair of local sockets: " + base::error_words(errno));
  return {base::Fd(made[0]), base::Fd(made[1])};
}

/// Over 127.0.0.1; `congestion` empty: the system's default.
Ends tcp_pair(const std::string& congestion) {
  base::Deadline deadline(base::real_scheduler(), std::chrono::seconds(10));
  net::Listener listener(net::resolve({"127.0.0.1", 0}).front());
  Ends ends{net::connect(listener.bound(), deadline), base::Fd()};
  while (!ends.second) {
    if (!net::wait_ready(listener.fd(), net::Ready::read, deadline))
      throw std::runtime_error("a loopback connection does not arrive");
    ends.second = listener.accept();
  }
  for (const int fd : {ends.first.get(), ends.second.get()}) {
    let_block(fd);
    if (!congestion.empty() && ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                                            static_cast<socklen_t>(congestion.size())) != 0)
      throw std::runtime_error("no congestion control " + congestion + ": " + base::error_words(errno));
  }
  return ends;
}

/// The default, then what else any process may choose.
std::vector<std::string> congestion_controls() {
  std::ifstream current("/proc/sys/net/ipv4/tcp_congestion_control");
  std::ifstream allowed("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
  std::vector<std::string> names(std::istream_iterator<std::string>(current), {});
  std::for_each(std::istream_iterator<std::string>(allowed), {}, [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  });
  if (names.empty()) names.emplace_back();
  return names;
}

/// Two threads at the two ends of a connection. An end that fails closes the connection, so that the other
/// fails as well instead of waiting.
class Talk {
 public:
  explicit Talk(Ends ends) : ends_(std::move(ends)) {}

  /// Seconds of one `call(end, descriptor)` on both ends at once. It gives false when its socket has failed.
  template <class Call>
  double least(double seconds, const Call& call) {
    const std::vector<int> cores = cores_to_use();
    double result = 0;
    on_cores({cores[0], cores[1]}, [&](std::size_t i) {
      const int fd = i == 0 ? ends_.first.get() : ends_.second.get();
      const double each = step_.least(i, seconds, [&] {
        if (!failed_ && !call(i, fd)) fail(fd);
      });
      if (i == 0) result = each;
    });
    if (failed_) throw std::runtime_error("a connection on this host was lost");
    return result;
  }

 private:
  void fail(int fd) noexcept {
    failed_ = true;
    (void)::shutdown(fd, SHUT_RDWR);
  }

  Ends ends_;
  Lockstep step_{2};
  std::atomic<bool> failed_{false};
};

bool put(int fd, const char* bytes, std::size_t count) noexcept {
  while (count > 0) {
    const ssize_t moved = ::send(fd, bytes, count, MSG_NOSIGNAL);
    if (moved <= 0) return false;
    bytes += moved;
    count -= static_cast<std::size_t>(moved);
  }
  return true;
}

// flags: MSG_DONTWAIT looks again and again.
bool take(int fd, char* bytes, std::size_t count, int flags) noexcept {
  while (count > 0) {
    const ssize_t moved = ::recv(fd, bytes, count, flags);
    if (moved < 0 && errno == EAGAIN) continue;
    if (moved <= 0) return false;
    bytes += moved;
    count -= static_cast<std::size_t>(moved);
  }
  return true;
}

double trip(Ends ends, double seconds, int flags) {
  std::array<std::array<char, 4>, 2> words{};
  const double round = Talk(std::move(ends)).least(seconds, [&](std::size_t end, int fd) {
    char* const word = words[end].data();
    if (end == 0) return put(fd, word, 4) && take(fd, word, 4, flags);
    return take(fd, word, 4, flags) && put(fd, word, 4);
  });
  return round / 2;
}

/// Bytes per second from one end to the other, in large pieces.
double stream_rate(Ends ends, double seconds) {
  std::array<std::vector<char>, 2> memory = {std::vector<char>(stream_piece),
                                             std::vector<char>(stream_piece)};
  const double took = Talk(std::move(ends)).least(seconds, [&](std::size_t end, int fd) {
    char* const bytes = memory[end].data();
    bool good = true;
    for (std::size_t left = stream_bytes; good && left > 0; left -= stream_piece)
      good = end == 0 ? put(fd, bytes, stream_piece) : take(fd, bytes, stream_piece, 0);
    return good && (end == 0 ? take(fd, bytes, 1, 0) : put(fd, bytes, 1));
  });
  return static_cast<double>(stream_bytes) / took;
}

/// So many bytes out and as many in, whatever can move first; never sleeps.
bool exchange(int fd, const char* out, char* in, std::size_t bytes) noexcept {
  std::size_t sent = 0;
  std::size_t got = 0;
  while (sent < bytes || got < bytes) {
    if (sent < bytes) {
      const ssize_t moved = ::send(fd, out + sent, bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (moved < 0 && errno != EAGAIN) return false;
      if (moved > 0) sent += static_cast<std::size_t>(moved);
    }
    if (got < bytes) {
      const ssize_t moved = ::recv(fd, in + got, bytes - got, MSG_DONTWAIT);
      if (moved == 0 || (moved < 0 && errno != EAGAIN)) return false;
      if (moved > 0) got += static_cast<std::size_t>(moved);
    }
  }
  return true;
}

void measure_exchange(Curve& curve, const std::function<Ends()>& connect, const FloorPlan& plan,
                      const std::function<bool()>& stop) {
  const std::vector<std::size_t> sizes = plan.sizes_within(most_exchanged);
  if (sizes.empty()) return;
  Talk talk(connect());
  std::array<std::vector<char>, 4> memory;
  for (auto& each : memory) each.resize(sizes.back());
  for (const std::size_t bytes : sizes) {
    if (stop()) return;
    curve.add(bytes, talk.least(plan.seconds, [&](std::size_t end, int fd) {
      return exchange(fd, memory[2 * end].data(), memory[2 * end + 1].data(), bytes);
    }));
  }
}

void measure_trips(Trips& trips, const std::function<Ends()>& connect, double seconds) {
  trips.polled = trip(connect(), seconds, MSG_DONTWAIT);
  trips.blocking = trip(connect(), seconds, 0);
}

void measure_tcp(SocketFloor& tcp, const FloorPlan& plan, const std::function<bool()>& stop) {
  for (const std::string& name : congestion_controls()) {
    if (stop()) return;
    tcp.streams.push_back({name, stream_rate(tcp_pair(name), plan.seconds)});
  }
  std::ranges::stable_sort(tcp.streams, std::greater(), &SocketFloor::Stream::rate);
  const auto connect = [how = tcp.streams.front().how] { return tcp_pair(how); };
  measure_trips(tcp.trip, connect, plan.seconds);
  measure_exchange(tcp.exchange, connect, plan, stop);
}

}  // namespace

void measure_sockets(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop) {
  if (cores_to_use().size() < 2) return;
  if (plan.tcp) measure_tcp(floors.tcp, plan, stop);
  if (!plan.everything || stop()) return;
  floors.local.streams.push_back({"", stream_rate(local_pair(), plan.seconds)});
  measure_trips(floors.local.trip, local_pair, plan.seconds);
  measure_exchange(floors.local.exchange, local_pair, plan, stop);
}

}  // namespace rondo::tools::bench
