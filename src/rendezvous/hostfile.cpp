#include "rendezvous/hostfile.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/problem.hpp"

namespace rondo::rendezvous {

namespace {

using base::Problem;
using Json = nlohmann::json;

// More would be a mistake, and costs memory before anything is checked.
constexpr std::size_t most_bytes = 16 << 20;

[[noreturn]] void wrong(const std::string& path, const std::string& what) {
  throw Problem(ErrorKind::invalid_argument, -1, fmt::format("hostfile \"{}\": {}", path, what));
}

// A piece of the file for messages: one short line.
std::string shown(const Json& value) {
  constexpr std::size_t most = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > most) text = text.substr(0, most) + "...";
  return text;
}

net::HostPort address(const Json& value, const std::string& entry, const std::string& path) {
  if (value.is_object() && value.contains("ssh")) {
    wrong(path, fmt::format("{} is {}: this is a hostfile for a launcher, expected \"host:port\"", entry,
                            shown(value)));
  }
  if (!value.is_string()) wrong(path, fmt::format("{} is {}, expected \"host:port\"", entry, shown(value)));
  try {
    return net::parse_host_port(value.get_ref<const std::string&>());
  } catch (const Problem& problem) {
    wrong(path, fmt::format("{}: {}", entry, problem.what()));
  }
}

std::vector<net::HostPort> addresses(const Json& value, std::size_t rank, const std::string& path) {
  if (!value.is_array()) return {address(value, fmt::format("entry {}", rank), path)};
  if (value.empty()) wrong(path, fmt::format("entry {} is [], expected at least one address", rank));
  std::vector<net::HostPort> list;
  for (const Json& each : value)
    list.push_back(address(each, fmt::format("entry {}, address {}", rank, list.size()), path));
  return list;
}

}  // namespace

std::string to_string(const net::HostPort& where) {
  return where.host.find(':') == std::string::npos ? fmt::format("{}:{}", where.host, where.port)
                                                   : fmt::format("[{}]:{}", where.host, where.port);
}

Hostfile parse_hostfile(std::string_view text, const std::string& path) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    wrong(path, "it is empty, expected a JSON array with one item per rank");
  Json top;
  try {
    top = Json::parse(text);
  } catch (const Json::parse_error& error) {
    wrong(path, fmt::format("it is not JSON (byte {})", error.byte));
  } catch (const Json::out_of_range&) {
    wrong(path, "a number in it is out of range");
  }
  if (!top.is_array()) {
    // MLX takes an object and sorts its keys as text, which puts "10" before "2".
    wrong(path, fmt::format("it holds {}, expected an array with one item per rank", shown(top)));
  }
  if (top.empty()) wrong(path, "it holds [], expected at least one rank");
  Hostfile file{path, {}};
  for (const Json& each : top) file.ranks.push_back(addresses(each, file.ranks.size(), path));
  return file;
}

Hostfile read_hostfile(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) {
    text.resize(most_bytes + 1);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (!in.eof() && text.size() <= most_bytes) {
    const int cause = errno != 0 ? errno : EIO;
    wrong(path, "it cannot be read: " + std::generic_category().message(cause));
  }
  if (text.size() > most_bytes) wrong(path, fmt::format("it is larger than {} bytes", most_bytes));
  return parse_hostfile(text, path);
}

void check_ring(const Hostfile& file, int rank) {
  const int n = file.size();
  if (rank < 0 || rank >= n) {
    wrong(file.path, n == 1 ? fmt::format("rank {} is outside it: it holds rank 0 only", rank)
                            : fmt::format("rank {} is outside it: it holds ranks 0 to {}", rank, n - 1));
  }
  const auto of = [&](int r) -> const std::vector<net::HostPort>& {
    return file.ranks[static_cast<std::size_t>(r)];
  };
  for (const int near : {(rank + n - 1) % n, rank, (rank + 1) % n}) {
    if (of(near).size() != of(rank).size()) {
      wrong(file.path, fmt::format("entry {} has {} addresses and entry {} has {}, expected equally many",
                                   rank, of(rank).size(), near, of(near).size()));
    }
    for (std::size_t k = 0; k < of(near).size(); ++k) {
      const net::HostPort& mine = of(near)[k];
      if (mine.port == 0) {
        wrong(file.path, fmt::format("entry {}, address {}: \"{}\" has port 0, expected 1 to 65535", near, k,
                                     to_string(mine)));
      }
      for (int other = 0; other < n; ++other)
        for (std::size_t j = 0; j < of(other).size(); ++j) {
          const net::HostPort& its = of(other)[j];
          if ((other == near && j == k) || its.port != mine.port || its.host != mine.host) continue;
          wrong(file.path, fmt::format("\"{}\" is entry {}, address {} and entry {}, address {} as well",
                                       to_string(mine), near, k, other, j));
        }
    }
  }
}

}  // namespace rondo::rendezvous
