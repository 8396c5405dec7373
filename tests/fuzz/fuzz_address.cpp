// A line read as host:port, the rest as a choice of interfaces. Whatever they are: either
// Problem(invalid_argument), or a result that reads back as the same and keeps to the list.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/problem.hpp"
#include "net/address.hpp"
#include "net/interface.hpp"

namespace {

using rondo::base::Problem;
using namespace rondo::net;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_refusal(const Problem& problem) {
  require(problem.kind() == rondo::ErrorKind::invalid_argument);
  const std::string_view text = problem.what();
  require(!text.empty() && text.size() < 4096 && text.find('\n') == std::string_view::npos);
}

/// Numbers only: names would ask the resolver.
bool is_number(const std::string& host) {
  const auto of_number = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  return host.find(':') != std::string::npos || std::all_of(host.begin(), host.end(), of_number);
}

void read_address(std::string_view text) {
  HostPort where;
  try {
    where = parse_host_port(text);
  } catch (const Problem& problem) {
    require_refusal(problem);
    return;
  }
  const bool v6 = where.host.find(':') != std::string::npos;
  const std::string again = (v6 ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
  require(again == text);
  if (!is_number(where.host)) return;
  try {
    const std::vector<Address> found = resolve(where);
    require(found.size() == 1 && found[0].port() == where.port);
    const std::vector<Address> same = resolve(parse_host_port(to_string(found[0])));
    require(same.size() == 1 && same[0] == found[0]);
  } catch (const Problem& problem) {
    // The interface of a scope may be missing.
    require(problem.kind() == rondo::ErrorKind::unavailable);
    require(where.host.find('%') != std::string::npos);
  }
}

const std::vector<Interface>& machine() {
  static const std::vector<Interface> all = [] {
    std::vector<Interface> list;
    for (const auto& [name, address] : {std::pair("lo", "127.0.0.1"),
                                        {"lo", "::1"},
                                        {"eth0", "10.0.0.7"},
                                        {"eth0", "fd00::7"},
                                        {"eth10", "10.1.0.8"},
                                        {"docker0", "172.17.0.1"},
                                        {"virbr0", "192.168.122.1"}})
      list.push_back({name, resolve({address, 0}).front(), true, name == std::string_view("lo")});
    return list;
  }();
  return all;
}

std::vector<Address> addresses(const std::vector<Interface>& list) {
  std::vector<Address> out;
  for (const Interface& one : list) out.push_back(one.address);
  return out;
}

std::optional<std::vector<Address>> chosen(const std::string& choice) {
  try {
    return addresses(choose(machine(), choice));
  } catch (const Problem& problem) {
    require_refusal(problem);
    return std::nullopt;
  }
}

void choose_interfaces(const std::string& choice) {
  const auto kept = chosen(choice);
  if (!kept) return;
  require(!kept->empty());
  if (choice.empty() || choice[0] == '^') return;
  // What is chosen and what the same words exclude make up the whole.
  std::vector<Address> whole = *kept;
  if (const auto others = chosen("^" + choice)) whole.insert(whole.end(), others->begin(), others->end());
  const std::vector<Address> all = addresses(machine());
  require(std::is_permutation(whole.begin(), whole.end(), all.begin(), all.end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  read_address(text.substr(0, line));
  if (line != std::string_view::npos) choose_interfaces(std::string(text.substr(line + 1)));
  return 0;
}
