#include <fmt/format.h>

#include <algorithm>

#include "base/problem.hpp"
#include "info/sections.hpp"
#include "net/interface.hpp"

namespace rondo::tools::info {

namespace {

bool same(const net::Interface& a, const net::Interface& b) {
  return a.name == b.name && a.address == b.address;
}

// Where the others find this host, when the way to the rendezvous decides. Empty: it does not.
net::Address by_route(const Config& config) {
  if (!config.interface.empty() || config.rendezvous.empty() || config.rendezvous.starts_with("file:"))
    return {};
  const auto roots = net::resolve(net::parse_host_port(config.rendezvous));
  if (roots.empty() || roots.front().is_any()) return {};
  net::Address here = net::route_to(roots.front());
  here.set_port(0);
  return here;
}

// The first that other hosts can reach; else the first.
net::Address first_of(const std::vector<net::Interface>& allowed) {
  const auto reachable = std::ranges::find_if(allowed, [](const net::Interface& each) {
    return each.up && !each.loopback && each.address.scope() == 0;
  });
  if (reachable != allowed.end()) return reachable->address;
  const auto up = std::ranges::find_if(allowed, &net::Interface::up);
  return up == allowed.end() ? net::Address() : up->address;
}

}  // namespace

Json interfaces_section(const Config& config) {
  Json section;
  section["choice"] = config.interface.empty() ? Json() : Json(config.interface);
  try {
    const auto all = net::list_interfaces();
    section["addresses"] = Json::array();
    for (const net::Interface& each : all) {
      section["addresses"].push_back({{"name", each.name},
                                      {"address", net::host_text(each.address)},
                                      {"up", each.up},
                                      {"loopback", each.loopback},
                                      {"allowed", false}});
    }
    const auto allowed = net::choose(all, config.interface);
    for (std::size_t i = 0; i < all.size(); ++i)
      section["addresses"][i]["allowed"] =
          std::ranges::any_of(allowed, [&](const net::Interface& each) { return same(each, all[i]); });
    const net::Address routed = by_route(config);
    const net::Address told = routed.family() == AF_UNSPEC ? first_of(allowed) : routed;
    section["told to others"] = told.family() == AF_UNSPEC ? Json() : Json(net::host_text(told));
    section["because"] = routed.family() != AF_UNSPEC ? "packets to the rendezvous leave from it"
                         : config.interface.empty()   ? "it is the first that other hosts can reach"
                                                      : "RONDO_INTERFACE chooses it";
  } catch (const base::Problem& problem) {
    section["error"] = problem.what();
  }
  return section;
}

}  // namespace rondo::tools::info
