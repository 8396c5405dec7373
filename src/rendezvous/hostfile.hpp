#pragma once
/// The hostfile of a ring: the addresses on which each rank listens for its left neighbour. JSON in the form
/// that MLX reads: an array with one item per rank, each "host:port" or an array of them (one per cable).

#include <string>
#include <string_view>
#include <vector>

#include "net/address.hpp"

namespace rondo::rendezvous {

struct Hostfile {
  std::string path;                               ///< for words
  std::vector<std::vector<net::HostPort>> ranks;  ///< at least one rank, at least one address each

  int size() const noexcept { return static_cast<int>(ranks.size()); }
};

/// Reads the text of a hostfile; looks no name up. Throws Problem(invalid_argument) that names file, entry,
/// value and what was expected.
Hostfile parse_hostfile(std::string_view text, const std::string& path);

/// The same from a file. Throws Problem(invalid_argument) too when it cannot be read.
Hostfile read_hostfile(const std::string& path);

/// What `rank` needs of the file: that it is in it, that it and its two neighbours have equally many
/// addresses, with ports, none of them given to another rank. What is said of other ranks does not matter:
/// files written for one rank hold placeholders there. Throws Problem(invalid_argument).
void check_ring(const Hostfile& file, int rank);

/// "[::1]:4000": as the file has it.
std::string to_string(const net::HostPort& where);

}  // namespace rondo::rendezvous
