#include "net/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>

#include "base/fd.hpp"
#include "base/problem.hpp"
#include "net/quote.hpp"

namespace rondo::net {

namespace {

using base::Problem;
using Text = std::string_view;

// The storage is read and written through the type that its family names.
const sockaddr_in& v4(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage);
}
const sockaddr_in6& v6(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage);
}

bool needs_scope(const in6_addr& number) {
  return IN6_IS_ADDR_LINKLOCAL(&number) || IN6_IS_ADDR_MC_LINKLOCAL(&number);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_graphic(char c) { return c > ' ' && c < 0x7f; }

template <class Number>
std::optional<Number> read_number(int family, Text text) {
  Number number{};
  if (inet_pton(family, std::string(text).c_str(), &number) != 1) return std::nullopt;
  return number;
}

// --- parsing ---------------------------------------------------------------------------------------------

[[noreturn]] void refuse(Text whole, const std::string& why) {
  throw Problem(
      ErrorKind::invalid_argument, -1,
      fmt::format("{}: {}; expected host:port, such as node1:4000, 10.0.0.1:4000, [fd00::1]:4000 or "
                  "[fe80::1%eth0]:4000",
                  quote(whole), why));
}

std::uint16_t parse_port(Text whole, Text text) {
  if (text.empty()) refuse(whole, "no port");
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || at != end || (text.size() > 1 && text[0] == '0'))
    refuse(whole, fmt::format("the port {} is not a whole number from 0 to 65535", quote(text)));
  return port;
}

/// What stands between the brackets.
void check_v6(Text whole, Text text) {
  const std::size_t percent = text.find('%');
  const auto number = read_number<in6_addr>(AF_INET6, text.substr(0, percent));
  if (text.find('\0') != Text::npos || !number)
    refuse(whole, fmt::format("{} is not an IPv6 address", quote(text.substr(0, percent))));
  if (percent == Text::npos) {
    if (needs_scope(*number)) refuse(whole, "a link-local address needs an interface");
    return;
  }
  const Text scope = text.substr(percent + 1);
  if (scope.empty() || scope.size() >= IF_NAMESIZE || !std::all_of(scope.begin(), scope.end(), is_graphic) ||
      scope.find_first_of("[]%/") != Text::npos)
    refuse(whole, fmt::format("{} is not the name of an interface", quote(scope)));
}

/// True when a name ends like a number: "10.1", "127.0.0.256", "0x7f000001". Resolvers take such forms in
/// ways that nobody expects.
bool looks_numeric(Text host) {
  if (host.back() == '.') host.remove_suffix(1);  // the end of a full name
  const Text last = host.substr(host.rfind('.') + 1);
  if (last.size() > 1 && last[0] == '0' && (last[1] == 'x' || last[1] == 'X')) return true;
  return !last.empty() && std::all_of(last.begin(), last.end(), is_digit);
}

void check_name(Text whole, Text host) {
  constexpr std::size_t longest = 253;  // of a name in DNS
  if (host.empty()) refuse(whole, "no host");
  for (const char c : host)
    if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_' && c != '.')
      refuse(whole, fmt::format("{} is not the name of a host", quote(host)));
  if (host.size() > longest || host[0] == '.' || host[0] == '-' || host.find("..") != Text::npos)
    refuse(whole, fmt::format("{} is not the name of a host", quote(host)));
  if (looks_numeric(host) && !read_number<in_addr>(AF_INET, host))
    refuse(whole, fmt::format("{} is not an IPv4 address", quote(host)));
}

// --- looking up ------------------------------------------------------------------------------------------

[[noreturn]] void unresolved(const std::string& host, const std::string& why) {
  throw Problem(ErrorKind::unavailable, -1, fmt::format("cannot resolve {}: {}", quote(host), why));
}

/// Numbers are read here and not by the resolver, which would take more forms.
std::optional<Address> numeric(const HostPort& where) {
  if (const auto number = read_number<in_addr>(AF_INET, where.host)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(where.port);
    address.sin_addr = *number;
    return Address(reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
  const std::size_t percent = where.host.find('%');
  const auto number = read_number<in6_addr>(AF_INET6, Text(where.host).substr(0, percent));
  if (!number) return std::nullopt;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(where.port);
  address.sin6_addr = *number;
  if (percent != std::string::npos) {
    const std::string scope = where.host.substr(percent + 1);
    unsigned index = if_nametoindex(scope.c_str());
    char name[IF_NAMESIZE];
    if (index == 0) {  // also by number, which must be one of an interface
      const char* const end = scope.data() + scope.size();
      const auto [at, error] = std::from_chars(scope.data(), end, index);
      if (error != std::errc() || at != end || if_indextoname(index, name) == nullptr)
        unresolved(where.host, fmt::format("there is no interface {}", quote(scope)));
    }
    if (needs_scope(*number)) address.sin6_scope_id = index;  // other addresses have none
  }
  return Address(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

std::string resolver_words(int code) {
  // errno must be looked at before anything else can change it.
  const int cause = errno;
  return code == EAI_SYSTEM ? base::error_words(cause) : gai_strerror(code);
}

}  // namespace

Address::Address(const sockaddr* address, socklen_t length)
    : length_(std::min<socklen_t>(length, sizeof storage_)) {
  std::memcpy(&storage_, address, length_);
}

std::uint16_t Address::port() const noexcept {
  if (family() == AF_INET) return ntohs(v4(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(v6(storage_).sin6_port);
  return 0;
}

void Address::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET) reinterpret_cast<sockaddr_in&>(storage_).sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6&>(storage_).sin6_port = htons(port);
}

std::uint32_t Address::scope() const noexcept {
  return family() == AF_INET6 ? v6(storage_).sin6_scope_id : 0;
}

std::string_view Address::number() const noexcept {
  if (family() == AF_INET) return {reinterpret_cast<const char*>(&v4(storage_).sin_addr), sizeof(in_addr)};
  if (family() == AF_INET6) return {reinterpret_cast<const char*>(&v6(storage_).sin6_addr), sizeof(in6_addr)};
  return {};
}

bool Address::is_loopback() const noexcept {
  if (family() == AF_INET) return number()[0] == 127;
  if (family() != AF_INET6) return false;
  const in6_addr& number = v6(storage_).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&number) || (IN6_IS_ADDR_V4MAPPED(&number) && number.s6_addr[12] == 127);
}

bool Address::is_any() const noexcept {
  const std::string_view bytes = number();
  return !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

bool operator==(const Address& a, const Address& b) noexcept {
  return a.family() == b.family() && a.port() == b.port() && a.scope() == b.scope() &&
         a.number() == b.number();
}

std::string host_text(const Address& address) {
  char text[INET6_ADDRSTRLEN];
  const std::string_view number = address.number();
  if (number.empty()) return address.family() == AF_UNIX ? "a local socket" : "an unknown address";
  if (inet_ntop(address.family(), number.data(), text, sizeof text) == nullptr) return "an unknown address";
  if (address.scope() == 0) return text;
  char name[IF_NAMESIZE];
  if (if_indextoname(address.scope(), name) == nullptr) return fmt::format("{}%{}", text, address.scope());
  return fmt::format("{}%{}", text, name);
}

std::string to_string(const Address& address) {
  const std::string host = host_text(address);
  if (address.family() == AF_INET6) return fmt::format("[{}]:{}", host, address.port());
  return address.family() == AF_INET ? fmt::format("{}:{}", host, address.port()) : host;
}

HostPort parse_host_port(std::string_view text) {
  if (text.empty()) refuse(text, "nothing there");
  for (const char c : text)
    if (!is_graphic(c)) refuse(text, "a blank or a character that is not ASCII");
  std::string_view host;
  std::string_view port;
  if (text[0] == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) refuse(text, "no closing bracket");
    host = text.substr(1, close - 1);
    check_v6(text, host);
    port = text.substr(close + 1);
    if (port.empty()) refuse(text, "no port");
    if (port[0] != ':') refuse(text, "something else than a colon behind the bracket");
    port.remove_prefix(1);
  } else {
    const std::size_t colon = text.find(':');
    if (colon != text.rfind(':')) refuse(text, "more than one colon (IPv6 addresses stand in brackets)");
    host = text.substr(0, colon);
    check_name(text, host);
    if (colon == std::string_view::npos) refuse(text, "no port");
    port = text.substr(colon + 1);
  }
  return {std::string(host), parse_port(text, port)};
}

std::vector<Address> resolve(const HostPort& where) {
  if (const auto address = numeric(where)) return {*address};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(where.host.c_str(), nullptr, &hints, &found);
  if (code != 0) unresolved(where.host, resolver_words(code));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    Address address(one->ai_addr, one->ai_addrlen);
    address.set_port(where.port);
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  if (addresses.empty()) unresolved(where.host, "it has no address");
  return addresses;
}

}  // namespace rondo::net
