#pragma once
/// Settings: one typed, printable place.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <version>

#if __has_include(<format>) && defined(__cpp_lib_format)
#include <format>
#endif

#include "rondo/error.hpp"
#include "rondo/export.hpp"

namespace RONDO_EXPORT rondo {

/// What carries a group's bytes. `any` asks for the best that is configured.
enum class Backend : std::uint8_t { any, ring, mpi, jaccl, nccl, tcp, shm, sim };
inline constexpr int backend_count = 8;

/// "any", "ring", "mpi", ...
std::string_view to_string(Backend backend) noexcept;
/// The inverse of to_string, exact and case-sensitive. Throws Error(invalid_argument) that lists the names.
Backend parse_backend(std::string_view name);
std::ostream& operator<<(std::ostream& out, Backend backend);

/// What the ranks of a ring say to each other: rondo's own frames, or the bare bytes of MLX.
enum class RingWire : std::uint8_t { rondo, mlx };

/// Everything that can be set from outside. Fields that touch the protocol must be equal on all ranks, which
/// set-up compares.
struct Config {
  Backend backend = Backend::any;  ///< RONDO_BACKEND
  std::optional<int> rank;         ///< RONDO_RANK, else MLX_RANK
  std::optional<int> size;         ///< RONDO_SIZE
  std::string rendezvous;          ///< RONDO_RENDEZVOUS: host:port of rank 0, or file:DIRECTORY
  std::string hostfile;  ///< RONDO_HOSTFILE, else MLX_HOSTFILE: the addresses of a ring, one entry per rank
  RingWire ring_wire = RingWire::rondo;  ///< RONDO_RING_WIRE=rondo|mlx
  std::string launcher;  ///< RONDO_LAUNCHER: host:port of the launcher, which then serves the rendezvous
  std::optional<int> secret_fd;  ///< RONDO_SECRET_FD: a descriptor to read the job's secret from
  std::string secret_file;       ///< RONDO_SECRET_FILE: the same from a file that only its owner may read
  std::string
      interface;  ///< RONDO_INTERFACE: which address others are told: names, prefixes, networks, ^exclusions
  Duration timeout = std::chrono::seconds(60);       ///< RONDO_TIMEOUT: limit of each blocking call
  Duration init_timeout = std::chrono::seconds(60);  ///< RONDO_INIT_TIMEOUT: limit of set-up
  bool check_agreement = false;            ///< RONDO_CHECK=agreement: compare calls before data moves
  bool check_payload = false;              ///< RONDO_CHECK=payload: a checksum with every payload
  std::size_t eager_bytes = 32 * 1024;     ///< RONDO_EAGER_BYTES: larger messages wait for the receive
  std::size_t credit_bytes = 1024 * 1024;  ///< RONDO_CREDIT_BYTES: sent and not yet matched, per peer
  std::string tuning;  ///< RONDO_TUNING: a file with a table of algorithms, as rondo bench --tune writes it
  std::size_t arena_bytes = 1024 * 1024;  ///< RONDO_ARENA_BYTES: shared memory per rank; 0: none
  /// RONDO_SINGLE_COPY_BYTES: from here on ranks of a host read each other's memory; 0: never
  std::size_t single_copy_bytes = 32 * 1024;
  bool log = true;  ///< RONDO_LOG=off|warn

  /// Reads the environment. Throws Error(invalid_argument) naming the variable, its value and what was
  /// expected.
  static Config from_env();

  friend bool operator==(const Config&, const Config&) = default;
};

/// One `NAME=value` line per setting that has a value; the variables of these lines give the same Config.
std::string to_string(const Config& config);
std::ostream& operator<<(std::ostream& out, const Config& config);

}  // namespace rondo

template <>
struct std::hash<rondo::Backend> {
  std::size_t operator()(rondo::Backend backend) const noexcept {
    return std::hash<unsigned>()(static_cast<unsigned>(backend));
  }
};

#if __has_include(<format>) && defined(__cpp_lib_format)
template <>
struct std::formatter<rondo::Backend> : std::formatter<std::string_view> {
  template <class FormatContext>
  auto format(rondo::Backend backend, FormatContext& context) const {
    return std::formatter<std::string_view>::format(rondo::to_string(backend), context);
  }
};
#endif
