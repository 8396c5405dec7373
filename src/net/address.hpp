#pragma once
/// Socket addresses: IPv4, IPv6 with scopes, host names.

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::net {

/// One numeric address with a port.
class Address {
 public:
  Address() = default;
  Address(const sockaddr* address, socklen_t length);

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const noexcept { return length_; }
  int family() const noexcept { return storage_.ss_family; }
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  bool is_loopback() const noexcept;
  bool is_any() const noexcept;
  friend bool operator==(const Address& a, const Address& b) noexcept;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// "127.0.0.1:4000", "[::1]:4000", "[fe80::1%eth0]:4000".
std::string to_string(const Address& address);

/// A name or number, and a port, before it is looked up.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
/// "host:port", "1.2.3.4:port", "[::1]:port", "[fe80::1%eth0]:port". Throws Problem(invalid_argument) that names the text and what was
/// expected. Strict: no blanks, the port a whole number from 0 to 65535.
HostPort parse_host_port(std::string_view text);

/// The addresses of a host, in the resolver's order. Throws Problem(unavailable) with the host and the resolver's words.
std::vector<Address> resolve(const HostPort& where);

}  // namespace rondo::net
