#pragma once
/// Sockets between processes of one host: nameless in the file system, with the system's word on who is at
/// the other end, and able to hand over descriptors.

#include <sys/types.h>

#include <string_view>

#include "base/deadline.hpp"
#include "base/fd.hpp"
#include "net/address.hpp"

namespace rondo::net {

/// The address of a local socket called `name` (at most 100 bytes) that leaves nothing in the file system and
/// ends with its listener. It is seen by processes of the same network namespace only.
Address local_name(std::string_view name);

/// Connects to it; empty when nobody listens by that name here, or this process may have no local sockets.
/// Waits while too many others wait there. Throws Problem(unavailable) at the limit, or when descriptors or
/// memory have run out.
base::Fd connect_locally(std::string_view name, base::Deadline& deadline);

/// True for a socket made at such an address.
bool is_local(int fd) noexcept;

/// The process at the other end of a local socket: a descriptor that poll() finds readable once the process
/// has ended (also before this was asked), even if a child of it still holds the socket. Empty where the
/// system cannot tell.
base::Fd peer_process(int fd) noexcept;

/// Hands over a descriptor with one byte. Throws Problem(timed_out, disconnected).
void send_descriptor(int fd, int descriptor, base::Deadline& deadline);
/// Takes one that was handed over. Throws Problem(timed_out, disconnected); disconnected too when the byte
/// came without a descriptor, which the words tell from one that is not allowed here any more.
base::Fd receive_descriptor(int fd, base::Deadline& deadline);

}  // namespace rondo::net
