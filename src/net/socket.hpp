#pragma once
/// Stream sockets: never a SIGPIPE, always close-on-exec, always non-blocking, TCP_NODELAY set.
/// Problems are `unavailable` (set-up) and name address, interface where known, and errno's words; when
/// descriptors have run out, the limit too.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "net/address.hpp"
#include "net/stream.hpp"

namespace rondo::net {

/// Listens on exactly this address, IPv6 without IPv4; port 0 takes a free one. bound() tells which.
class Listener {
 public:
  explicit Listener(const Address& address, int backlog = 128);
  /// Takes over a descriptor that listens already (inherited).
  explicit Listener(base::Fd listening);

  Address bound() const;
  int fd() const noexcept { return fd_.get(); }
  /// The next connection, or none when nobody waits. Peers that gave up meanwhile are skipped.
  base::Fd accept(Address* from = nullptr);

 private:
  base::Fd fd_;
};

/// Connects within the limit, trying again while the other side is not listening yet (refused, unreachable).
/// When the limit runs out: Problem(unavailable) with the last attempt's words.
base::Fd connect(const Address& to, base::Deadline& deadline);
/// The same to who has been listening: refused, it is gone, which is Problem(disconnected) at once.
base::Fd connect_to_listening(const Address& to, base::Deadline& deadline);
/// Starts one attempt without waiting; finish with connect_result(). For event loops. Throws when the attempt
/// fails at once.
base::Fd begin_connect(const Address& to);
/// 0 when the attempt has succeeded, EINPROGRESS while it is under way, otherwise errno (once: the system
/// forgets it then). A port that met itself, as happens when nobody listens on a free port of this machine,
/// counts as ECONNREFUSED.
int connect_result(int fd);
Address local_address(int fd);
Address peer_address(int fd);

enum class Ready : std::uint8_t { read, write };
/// Waits until the descriptor is ready or the limit runs out (false). Ready too when an attempt to read or
/// write would tell of an error or the end. The one place where sockets block.
bool wait_ready(int fd, Ready what, base::Deadline& deadline);

/// A connected socket as a stream.
class SocketStream final : public Stream {
 public:
  explicit SocketStream(base::Fd fd) noexcept : fd_(std::move(fd)) {}
  int fd() const noexcept { return fd_.get(); }
  Moved read(std::span<std::byte> memory) override;
  Moved writev(std::span<const std::byte> first, std::span<const std::byte> second) override;
  /// What the other end sends after this may cost what is still on the way to it, as TCP has it: where both
  /// may be sending, use end_writes() and read until closed.
  void shutdown() noexcept override;
  int descriptor() const noexcept override { return fd_.get(); }
  /// True when the other side's system has all that was written (closing then loses nothing), or never will.
  bool acknowledged() const noexcept;
  /// Closes this direction only: the other end reads what was written, then `closed`; reads go on here.
  void end_writes() noexcept;

 private:
  base::Fd fd_;
};

/// All of it, within the limit. Throw Problem(timed_out) and Problem(disconnected), which name the other end.
void read_all(int fd, std::span<std::byte> memory, base::Deadline& deadline);
void write_all(int fd, std::span<const std::byte> bytes, base::Deadline& deadline);

}  // namespace rondo::net
