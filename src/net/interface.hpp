#pragma once
/// Which of this machine's addresses other ranks are told.

#include <string>
#include <string_view>
#include <vector>

#include "net/address.hpp"

namespace rondo::net {

struct Interface {
  std::string name;
  Address address;  ///< port 0
  bool up = true;
  bool loopback = false;
};

/// This machine's IPv4 and IPv6 addresses, as the system lists them. Throws Problem(unavailable).
std::vector<Interface> list_interfaces();

/// Those that `choice` (RONDO_INTERFACE) allows: empty: all; otherwise a comma list of names ("eth0"),
/// prefixes of names ("eth"), networks ("10.0.0.0/8", "fd00::/8"), or, with a leading ^, the same excluded
/// ("^docker0,virbr"). A word that is the whole name of an interface is no prefix of others. Throws
/// Problem(invalid_argument) that lists what there is when a word matches nothing (excluded words may), when
/// nothing is left, or for a network that is none. Pure: works on the list given.
std::vector<Interface> choose(const std::vector<Interface>& all, std::string_view choice);

/// The address that packets to `root` leave from, as the system routes them (no packet is sent), with port 0.
/// Throws Problem(unavailable) when there is no route.
Address route_to(const Address& root);

/// Where packets to `to` leave from, for messages: "192.0.2.2 on eth0"; empty when nothing is known.
std::string route_text(const Address& to) noexcept;

}  // namespace rondo::net
