#include "net/local.hpp"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/check.hpp"
#include "base/problem.hpp"
#include "net/socket.hpp"

namespace rondo::net {

namespace {

using base::Fd;
using base::Problem;

// A message of one byte with room for one descriptor.
struct Parcel {
  char byte = 'f';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  Parcel() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen =
        CMSG_LEN(sizeof(int));  // the space has room for a second one, which nobody would close
  }
};

[[noreturn]] void lost(const char* what, int cause) {
  throw Problem(
      ErrorKind::disconnected, -1,
      std::string(what) + ": " + (cause == 0 ? "the other side hung up" : base::error_words(cause)));
}

bool would_block(int cause) { return cause == EAGAIN || cause == EWOULDBLOCK || cause == EINTR; }

// Something has run out. Otherwise there are no local sockets for this process, so that it meets nobody
// there.
bool ran_out(int cause) { return cause == EMFILE || cause == ENFILE || cause == ENOBUFS || cause == ENOMEM; }

// A descriptor that is readable already.
Fd ended_already() { return Fd(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)); }

}  // namespace

Address local_name(std::string_view name) {
  sockaddr_un address{};
  RONDO_INVARIANT(name.size() <= 100);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // the byte 0 first: not of the file system
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return {reinterpret_cast<const sockaddr*>(&address), length};
}

Fd connect_locally(std::string_view name, base::Deadline& deadline) {
  const Address to = local_name(name);
  base::Scheduler& clock = base::real_scheduler();
  for (;;) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd && !ran_out(errno)) return {};
    if (!fd) throw Problem(ErrorKind::unavailable, -1, "no local socket: " + base::error_words(errno));
    if (::connect(fd.get(), to.get(), to.length()) == 0) return fd;
    if (errno != EAGAIN && errno != EINTR) return {};
    if (deadline.expired())
      throw Problem(ErrorKind::unavailable, -1, "too many others wait to connect to a local socket");
    clock.sleep_until(clock.now() + std::chrono::milliseconds(1));
  }
}

bool is_local(int fd) noexcept {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) == 0 &&
         storage.ss_family == AF_UNIX;
}

Fd peer_process(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return {};
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  if (!process && errno == ESRCH) return ended_already();
  return process;
}

void send_descriptor(int fd, int descriptor, base::Deadline& deadline) {
  Parcel parcel;
  cmsghdr* const head = CMSG_FIRSTHDR(&parcel.message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
  for (;;) {
    if (::sendmsg(fd, &parcel.message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1) return;
    if (!would_block(errno)) lost("cannot hand over a descriptor", errno);
    if (!wait_ready(fd, Ready::write, deadline))
      throw Problem(ErrorKind::timed_out, -1, "a descriptor was not taken at the limit");
  }
}

Fd receive_descriptor(int fd, base::Deadline& deadline) {
  for (;;) {
    Parcel parcel;
    const ssize_t got = ::recvmsg(fd, &parcel.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got == 0) lost("no descriptor came", 0);
    if (got < 0) {
      if (!would_block(errno)) lost("no descriptor came", errno);
      if (!wait_ready(fd, Ready::read, deadline))
        throw Problem(ErrorKind::timed_out, -1, "no descriptor came at the limit");
      continue;
    }
    const cmsghdr* const head = CMSG_FIRSTHDR(&parcel.message);
    if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(int))) {
      const bool cut = (parcel.message.msg_flags & MSG_CTRUNC) != 0;
      throw Problem(ErrorKind::disconnected, -1,
                    cut ? "a descriptor was sent and did not arrive: " + base::error_words(EMFILE)
                        : "a byte came without the descriptor that belongs to it");
    }
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
    return Fd(descriptor);
  }
}

}  // namespace rondo::net
