#include <array>
#include <ostream>
#include <string>

#include "base/check.hpp"
#include "rondo/config.hpp"

namespace rondo {

namespace {

constexpr std::array<Backend, backend_count> backends = {Backend::any,   Backend::ring, Backend::mpi,
                                                         Backend::jaccl, Backend::nccl, Backend::tcp,
                                                         Backend::shm,   Backend::sim};

}  // namespace

std::string_view to_string(Backend backend) noexcept {
  switch (backend) {
    case Backend::any:
      return "any";
    case Backend::ring:
      return "ring";
    case Backend::mpi:
      return "mpi";
    case Backend::jaccl:
      return "jaccl";
    case Backend::nccl:
      return "nccl";
    case Backend::tcp:
      return "tcp";
    case Backend::shm:
      return "shm";
    case Backend::sim:
      return "sim";
  }
  base::broken_invariant("a Backend without a name", __FILE__, __LINE__);
}

Backend parse_backend(std::string_view name) {
  for (const Backend backend : backends)
    if (name == to_string(backend)) return backend;
  if (name.find('\0') != std::string_view::npos)
    throw Error(ErrorKind::invalid_argument, "distributed backend name contains an interior NUL byte");
  throw Error(ErrorKind::invalid_argument,
              "unknown distributed backend \"" + std::string(name) +
                  "\"; expected any, ring, mpi, jaccl, or nccl (or rondo's own: tcp, shm, sim)");
}

std::ostream& operator<<(std::ostream& out, Backend backend) { return out << to_string(backend); }

}  // namespace rondo
