#include "net/socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "base/check.hpp"
#include "base/problem.hpp"
#include "net/interface.hpp"

namespace rondo::net {

namespace {

using base::Deadline;
using base::Duration;
using base::Fd;
using base::Problem;

[[noreturn]] void unavailable(const std::string& what, int cause) {
  throw Problem(ErrorKind::unavailable, -1, what + ": " + base::error_words(cause));
}

std::string seconds(Duration time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

void set(int fd, int level, int name, int value) {
  // Sockets of other kinds (local ones, handed over) lack some options, which then have no use either.
  (void)setsockopt(fd, level, name, &value, sizeof value);
}

// --- connecting ------------------------------------------------------------------------------------------

std::string attempt_text(const Address& to) {
  const std::string from = route_text(to);
  return fmt::format("cannot connect to {}{}{}", to_string(to), from.empty() ? "" : " from ", from);
}

/// Starts an attempt: 0, EINPROGRESS, or what went wrong.
int start(const Address& to, Fd& fd) {
  fd = Fd(::socket(to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(fd.get(), to.get(), to.length()) == 0) return 0;
  return errno == EINTR ? EINPROGRESS : errno;  // interrupted: it goes on all the same
}

/// True for what may be different when the other side has come up.
bool may_pass(int cause) {
  return cause == ECONNREFUSED || cause == ECONNRESET || cause == ECONNABORTED || cause == EHOSTUNREACH ||
         cause == EHOSTDOWN || cause == ENETUNREACH || cause == ENETDOWN || cause == ETIMEDOUT ||
         cause == EAGAIN;
}

/// One attempt to its end: 0, or what went wrong (EINPROGRESS: the limit ran out first).
int attempt(const Address& to, Deadline& deadline, Fd& fd) {
  const int begun = start(to, fd);
  if (begun != 0 && begun != EINPROGRESS) return begun;
  int result = connect_result(fd.get());
  while (result == EINPROGRESS && wait_ready(fd.get(), Ready::write, deadline))
    result = connect_result(fd.get());
  return result;
}

// --- moving bytes ----------------------------------------------------------------------------------------

/// What a failed read or write comes to.
Moved failed(int cause) {
  if (cause == EAGAIN || cause == EWOULDBLOCK || cause == EINTR || cause == ENOBUFS || cause == ENOMEM)
    return {Moved::State::blocked, 0};
  RONDO_INVARIANT(cause != EBADF && cause != ENOTSOCK && cause != EFAULT && cause != EINVAL);
  return {Moved::State::closed, 0};
}

Moved read_some(int fd, std::span<std::byte> memory) {
  RONDO_INVARIANT(!memory.empty());
  ssize_t got = -1;
  do {
    got = ::recv(fd, memory.data(), memory.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return failed(errno);
  if (got == 0) return {Moved::State::closed, 0};
  return {Moved::State::ok, static_cast<std::size_t>(got)};
}

Moved write_some(int fd, std::span<const std::byte> first, std::span<const std::byte> second) {
  RONDO_INVARIANT(!first.empty() || !second.empty());
  // The system writes from these only; its interface has no const.
  std::array<iovec, 2> parts{{{const_cast<std::byte*>(first.data()), first.size()},
                              {const_cast<std::byte*>(second.data()), second.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  ssize_t put = -1;
  do {
    put = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (put < 0 && errno == EINTR);
  if (put < 0) return failed(errno);
  return {Moved::State::ok, static_cast<std::size_t>(put)};
}

using AddressCall = int (*)(int, sockaddr*, socklen_t*);

/// Empty, with errno set, when the system does not know.
Address ask(AddressCall call, int fd) noexcept {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (call(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return {reinterpret_cast<const sockaddr*>(&storage), length};
}

/// How far a read_all or write_all has come, and how it ends when it fails.
class Progress {
 public:
  /// The other end is asked for now: of a connection that is gone the system no longer knows it.
  Progress(int fd, std::size_t total, Deadline& deadline)
      : fd_(fd), peer_(ask(::getpeername, fd)), total_(total), deadline_(deadline) {}

  std::size_t done() const noexcept { return done_; }
  bool complete() const noexcept { return done_ == total_; }
  void add(Moved moved, Ready what) {
    switch (moved.state) {
      case Moved::State::ok:
        done_ += moved.bytes;
        return;
      case Moved::State::blocked:
        if (wait_ready(fd_, what, deadline_)) return;
        throw Problem(
            ErrorKind::timed_out, -1,
            fmt::format("{} {} {} of {} bytes within {}", to_string(peer_),
                        what == Ready::read ? "sent" : "took", done_, total_, seconds(deadline_.limit())));
      case Moved::State::closed:
        throw Problem(
            ErrorKind::disconnected, -1,
            fmt::format("{} closed the connection after {} of {} bytes", to_string(peer_), done_, total_));
    }
  }

 private:
  int fd_;
  Address peer_;
  std::size_t total_;
  Deadline& deadline_;
  std::size_t done_ = 0;
};

}  // namespace

// --- listening -------------------------------------------------------------------------------------------

Listener::Listener(const Address& address, int backlog) {
  const auto fail = [&](int cause) { unavailable("cannot listen on " + to_string(address), cause); };
  fd_ = Fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_) fail(errno);
  if (address.family() == AF_INET6) {
    const int only = 1;  // without this it would listen on IPv4 addresses too
    if (setsockopt(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) != 0) fail(errno);
  }
  // With this a later job gets the port although connections of an earlier one are still dying on it; both
  // jobs must have asked. A free port is asked for without, so that it is not one that somebody is about to
  // listen on.
  const auto allow_reuse = [&] { set(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1); };
  if (address.port() != 0) allow_reuse();
  if (::bind(fd_.get(), address.get(), address.length()) != 0) fail(errno);
  if (::listen(fd_.get(), backlog) != 0) fail(errno);
  if (address.port() == 0) allow_reuse();
}

Listener::Listener(Fd listening) : fd_(std::move(listening)) {
  const std::string what = fmt::format("cannot listen on the inherited descriptor {}", fd_.get());
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) unavailable(what, errno);
  if (listens == 0) throw Problem(ErrorKind::unavailable, -1, what + ": it is not a listening socket");
  const int flags = fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0 ||
      fcntl(fd_.get(), F_SETFD, FD_CLOEXEC) != 0)
    unavailable(what, errno);
}

Address Listener::bound() const { return local_address(fd_.get()); }

Fd Listener::accept(Address* from) {
  for (;;) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    Fd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&storage), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
      if (from != nullptr) *from = Address(reinterpret_cast<const sockaddr*>(&storage), length);
      return fd;
    }
    const int cause = errno;
    if (cause == EAGAIN || cause == EWOULDBLOCK) return {};
    // These are about the connection that was to be taken, not about the listener; the next may be sound.
    const bool passing = cause == EINTR || cause == ECONNABORTED || cause == EPROTO || cause == ENOPROTOOPT ||
                         cause == ENETDOWN || cause == ENETUNREACH || cause == EHOSTDOWN ||
                         cause == EHOSTUNREACH || cause == ENONET || cause == EPERM || cause == ETIMEDOUT;
    if (!passing) unavailable("cannot accept on " + to_string(bound()), cause);
  }
}

// --- connecting ------------------------------------------------------------------------------------------

namespace {

Fd connect_until(const Address& to, Deadline& deadline, bool listens) {
  constexpr Duration longest = std::chrono::milliseconds(250);
  Duration pause = std::chrono::milliseconds(1);
  int last = 0;  // of the last attempt that came to an end
  (void)deadline.end();
  for (;;) {
    Fd fd;
    const int result = attempt(to, deadline, fd);
    if (result == 0) return fd;
    if (result != EINPROGRESS) last = result;
    if (listens && (result == ECONNREFUSED || result == ECONNRESET))
      throw Problem(ErrorKind::disconnected, -1, attempt_text(to) + ": " + base::error_words(result));
    if (result != EINPROGRESS && !may_pass(result)) unavailable(attempt_text(to), result);
    fd.reset();
    if (deadline.expired()) {
      const std::string what = attempt_text(to) + " within " + seconds(deadline.limit());
      if (last == 0) throw Problem(ErrorKind::unavailable, -1, what + ": no answer");
      unavailable(what, last);
    }
    base::Scheduler& clock = base::real_scheduler();
    clock.sleep_until(std::min(clock.now() + pause, deadline.end()));
    pause = std::min(2 * pause, longest);
  }
}

}  // namespace

Fd connect(const Address& to, Deadline& deadline) { return connect_until(to, deadline, false); }

Fd connect_to_listening(const Address& to, Deadline& deadline) { return connect_until(to, deadline, true); }

Fd begin_connect(const Address& to) {
  Fd fd;
  const int result = start(to, fd);
  if (result != 0 && result != EINPROGRESS) unavailable(attempt_text(to), result);
  return fd;
}

int connect_result(int fd) {
  pollfd entry{fd, POLLOUT, 0};
  const int ready = ::poll(&entry, 1, 0);
  if (ready < 0) return errno == EINTR ? EINPROGRESS : errno;
  if (ready == 0) return EINPROGRESS;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  const Address peer = ask(::getpeername, fd);
  if (peer.family() == AF_UNSPEC) return errno;
  if (peer.port() != 0 && peer == ask(::getsockname, fd)) {
    const linger at_once{1, 0};  // else the port would stay taken for a minute
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return ECONNREFUSED;
  }
  return 0;
}

Address local_address(int fd) {
  const Address address = ask(::getsockname, fd);
  if (address.length() == 0) unavailable("cannot tell the own address of a socket", errno);
  return address;
}

Address peer_address(int fd) {
  const Address address = ask(::getpeername, fd);
  if (address.length() == 0) unavailable("cannot tell the other end of a socket", errno);
  return address;
}

// --- waiting and moving bytes ----------------------------------------------------------------------------

bool wait_ready(int fd, Ready what, Deadline& deadline) {
  using std::chrono::milliseconds;
  constexpr Duration longest = std::chrono::hours(1);  // poll counts in int
  for (;;) {
    const base::TimePoint now = base::real_scheduler().now();
    const base::TimePoint end = deadline.end();
    const Duration left = end <= now ? Duration::zero() : std::min<Duration>(end - now, longest);
    pollfd entry{fd, what == Ready::read ? short{POLLIN} : short{POLLOUT}, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
    if (ready > 0) {
      RONDO_INVARIANT((entry.revents & POLLNVAL) == 0);
      return true;
    }
    if (ready < 0 && errno != EINTR && errno != EAGAIN && errno != ENOMEM)
      unavailable("cannot wait for a socket", errno);
    if (ready == 0 && left == Duration::zero()) return false;
  }
}

Moved SocketStream::read(std::span<std::byte> memory) { return read_some(fd_.get(), memory); }

Moved SocketStream::writev(std::span<const std::byte> first, std::span<const std::byte> second) {
  return write_some(fd_.get(), first, second);
}

void SocketStream::shutdown() noexcept { (void)::shutdown(fd_.get(), SHUT_RDWR); }

void SocketStream::end_writes() noexcept { (void)::shutdown(fd_.get(), SHUT_WR); }

void read_all(int fd, std::span<std::byte> memory, Deadline& deadline) {
  Progress progress(fd, memory.size(), deadline);
  while (!progress.complete()) progress.add(read_some(fd, memory.subspan(progress.done())), Ready::read);
}

void write_all(int fd, std::span<const std::byte> bytes, Deadline& deadline) {
  Progress progress(fd, bytes.size(), deadline);
  while (!progress.complete()) progress.add(write_some(fd, bytes.subspan(progress.done()), {}), Ready::write);
}

bool SocketStream::acknowledged() const noexcept {
  int left = 0;
  if (ioctl(fd_.get(), TIOCOUTQ, &left) != 0 || left == 0) return true;
  // A connection that was reset goes on counting what it will never deliver.
  tcp_info info{};
  socklen_t length = sizeof(info);
  return getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_CLOSE;
}

}  // namespace rondo::net
