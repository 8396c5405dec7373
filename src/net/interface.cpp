#include "net/interface.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
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

socklen_t size_of(int family) {
  return static_cast<socklen_t>(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
}

/// What there is: "lo (127.0.0.1, ::1), eth0 (10.0.0.7)".
std::string listing(const std::vector<Interface>& all) {
  std::vector<std::pair<std::string, std::string>> names;  // in the order of the list
  for (const Interface& one : all) {
    const auto same = [&](const auto& entry) { return entry.first == one.name; };
    const auto found = std::find_if(names.begin(), names.end(), same);
    const std::string address = host_text(one.address);
    if (found == names.end())
      names.emplace_back(one.name, address);
    else
      found->second += ", " + address;
  }
  std::string text;
  for (const auto& [name, addresses] : names)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, addresses);
  return text.empty() ? "no interface" : text;
}

[[noreturn]] void refuse(Text choice, const std::string& why, const std::vector<Interface>& all) {
  throw Problem(ErrorKind::invalid_argument, -1,
                fmt::format("interface choice {}: {}; there is {}", quote(choice), why, listing(all)));
}

/// A network like 10.0.0.0/8.
struct Network {
  Address base;
  unsigned bits = 0;

  bool holds(const Address& address) const {
    if (address.family() != base.family()) return false;
    const Text a = address.number();
    const Text b = base.number();
    for (unsigned bit = 0; bit < bits; bit += 8) {
      const unsigned kept = std::min(8U, bits - bit);
      const unsigned mask = (0xffU << (8 - kept)) & 0xffU;
      const auto differ = static_cast<unsigned char>(a[bit / 8] ^ b[bit / 8]);
      if ((differ & mask) != 0) return false;
    }
    return true;
  }
};

std::optional<Network> parse_network(Text text) {
  const std::size_t slash = text.find('/');
  const std::string number(text.substr(0, slash));
  const Text digits = text.substr(slash + 1);
  if (number.find('\0') != std::string::npos) return std::nullopt;
  Network network;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET, number.c_str(), &v4.sin_addr) == 1)
    network.base = Address(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  else if (inet_pton(AF_INET6, number.c_str(), &v6.sin6_addr) == 1)
    network.base = Address(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  else
    return std::nullopt;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, network.bits);
  if (error != std::errc() || at != end || network.bits > 8 * network.base.number().size())
    return std::nullopt;
  return network;
}

/// Which entries of the list a word means.
std::vector<bool> matches(const std::vector<Interface>& all, Text word, Text choice) {
  std::vector<bool> out(all.size(), false);
  if (word.find('/') != Text::npos) {
    const auto network = parse_network(word);
    if (!network)
      refuse(choice, fmt::format("{} is not a network such as 10.0.0.0/8 or fd00::/8", quote(word)), all);
    for (std::size_t i = 0; i < all.size(); ++i) out[i] = network->holds(all[i].address);
    return out;
  }
  const bool whole =
      std::any_of(all.begin(), all.end(), [&](const Interface& one) { return one.name == word; });
  for (std::size_t i = 0; i < all.size(); ++i)
    out[i] = whole ? all[i].name == word : Text(all[i].name).substr(0, word.size()) == word;
  return out;
}

std::string name_of(const Address& address) {
  for (const Interface& one : list_interfaces())
    if (one.address == address) return one.name;
  return {};
}

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0)
    throw Problem(ErrorKind::unavailable, -1, "cannot list the interfaces: " + base::error_words(errno));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, freeifaddrs);
  std::vector<Interface> out;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    out.push_back({one->ifa_name, Address(one->ifa_addr, size_of(family)), (one->ifa_flags & IFF_UP) != 0,
                   (one->ifa_flags & IFF_LOOPBACK) != 0});
  }
  return out;
}

std::vector<Interface> choose(const std::vector<Interface>& all, std::string_view choice) {
  if (choice.empty()) return all;
  const bool exclude = choice[0] == '^';
  std::string_view rest = choice.substr(exclude ? 1 : 0);
  std::vector<bool> named(all.size(), false);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    if (word.empty()) refuse(choice, "an empty name", all);
    const std::vector<bool> found = matches(all, word, choice);
    // What is to be kept out need not be there; what is asked for must.
    if (!exclude && std::find(found.begin(), found.end(), true) == found.end())
      refuse(choice, fmt::format("{} matches nothing", quote(word)), all);
    for (std::size_t i = 0; i < all.size(); ++i) named[i] = named[i] || found[i];
  }
  std::vector<Interface> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (named[i] != exclude) out.push_back(all[i]);
  if (out.empty()) refuse(choice, "nothing is left", all);
  return out;
}

Address route_to(const Address& root) {
  const auto fail = [&] {
    throw Problem(ErrorKind::unavailable, -1,
                  fmt::format("no route to {}: {}", to_string(root), base::error_words(errno)));
  };
  // Connecting a datagram socket sends nothing; it asks the system for the route. Port 0 would be refused.
  Address target = root;
  if (target.port() == 0) target.set_port(1);
  const base::Fd fd(::socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), target.get(), target.length()) != 0) fail();
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) fail();
  Address from(reinterpret_cast<const sockaddr*>(&storage), length);
  from.set_port(0);
  return from;
}

std::string route_text(const Address& to) noexcept {
  try {
    const Address from = route_to(to);
    const std::string name = name_of(from);
    return name.empty() ? host_text(from) : fmt::format("{} on {}", host_text(from), name);
  } catch (const std::exception&) {
    return {};  // the message that this is for says itself that there is no route
  }
}

}  // namespace rondo::net
