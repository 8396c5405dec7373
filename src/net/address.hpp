#pragma once
/// Socket addresses: IPv4, IPv6 with scopes, host names.

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::net {

/// One numeric address with a port. An empty one (family AF_UNSPEC) says that nothing is known.
class Address {
 public:
  Address() = default;
  /// Copies what the system gave.
  Address(const sockaddr* address, socklen_t length);

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const noexcept { return length_; }
  /// AF_INET, AF_INET6, AF_UNIX (which has no number here) or AF_UNSPEC.
  int family() const noexcept { return storage_.ss_family; }
  /// 0 for families that have none.
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// The interface of a link-local address, as the system numbers it; 0: none.
  std::uint32_t scope() const noexcept;
  /// 127.0.0.0/8 (also as ::ffff:127.x.x.x) or ::1.
  bool is_loopback() const noexcept;
  /// 0.0.0.0 or ::, which stands for every address of this machine.
  bool is_any() const noexcept;
  /// The bytes of the number, in network order: 4, 16 or none. They live as long as the address.
  std::string_view number() const noexcept;
  /// Family, number, scope and port.
  friend bool operator==(const Address& a, const Address& b) noexcept;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// "127.0.0.1:4000", "[::1]:4000", "[fe80::1%eth0]:4000"; parse_host_port reads it back. Other families:
/// words.
std::string to_string(const Address& address);
/// The number alone, with its scope: "127.0.0.1", "fe80::1%eth0".
std::string host_text(const Address& address);

/// A name or number, and a port, before it is looked up.
struct HostPort {
  std::string host;  ///< without brackets
  std::uint16_t port = 0;
};

/// "host:port", "1.2.3.4:port", "[::1]:port", "[fe80::1%eth0]:port". Throws Problem(invalid_argument) that
/// names the text and what was expected. Strict: no blanks, names of ASCII letters, digits, '-', '_' and '.',
/// numbers in the usual form, a scope for link-local addresses, the port a whole number from 0 to 65535.
/// Looks nothing up.
HostPort parse_host_port(std::string_view text);

/// The addresses of a host, each once, in the resolver's order. Throws Problem(unavailable) with the host and
/// the resolver's words. Numbers are not looked up. For names the resolver's own time limits count.
std::vector<Address> resolve(const HostPort& where);

}  // namespace rondo::net
