#include "bench/verb.hpp"

#include <algorithm>
#include <array>

namespace rondo::tools::bench {

namespace {

constexpr std::array<VerbInfo, 12> verbs = {{
    // verb, name, parts, reduces, rooted, out of place, in place, least ranks
    {BenchVerb::all_reduce, "all_reduce", false, true, false, true, true, 1},
    {BenchVerb::reduce, "reduce", false, true, true, true, true, 1},
    {BenchVerb::all_gather, "all_gather", true, false, false, true, true, 1},
    {BenchVerb::reduce_scatter, "reduce_scatter", true, true, false, true, false, 1},
    {BenchVerb::all_to_all, "all_to_all", true, false, false, true, false, 1},
    {BenchVerb::broadcast, "broadcast", false, false, true, false, true, 1},
    {BenchVerb::gather, "gather", true, false, true, true, true, 1},
    {BenchVerb::scatter, "scatter", true, false, true, true, true, 1},
    {BenchVerb::barrier, "barrier", false, false, false, true, false, 1},
    {BenchVerb::sendrecv, "sendrecv", false, false, false, true, false, 2},
    {BenchVerb::latency, "latency", false, false, false, true, false, 2},
    {BenchVerb::bandwidth, "bandwidth", false, false, false, true, false, 2},
}};

struct Alias {
  std::string_view name;
  BenchVerb verb;
  ReduceOp op;
};
constexpr std::array<Alias, 4> aliases = {{
    {"all_sum", BenchVerb::all_reduce, ReduceOp::sum},
    {"all_max", BenchVerb::all_reduce, ReduceOp::max},
    {"all_min", BenchVerb::all_reduce, ReduceOp::min},
    {"sum_scatter", BenchVerb::reduce_scatter, ReduceOp::sum},
}};

}  // namespace

std::span<const VerbInfo> all_verbs() noexcept { return verbs; }

const VerbInfo& info_of(BenchVerb verb) noexcept {
  return *std::ranges::find(verbs, verb, &VerbInfo::verb);  // the table has every verb
}

std::optional<NamedVerb> parse_verb(std::string_view name) noexcept {
  for (const Alias& each : aliases)
    if (each.name == name) return NamedVerb{each.verb, each.op};
  for (const VerbInfo& each : verbs)
    if (each.name == name) return NamedVerb{each.verb, std::nullopt};
  return std::nullopt;
}

double bus_factor(BenchVerb verb, int ranks) noexcept {
  const double n = ranks;
  switch (verb) {
    case BenchVerb::all_reduce:
      return 2 * (n - 1) / n;
    case BenchVerb::all_gather:
    case BenchVerb::reduce_scatter:
    case BenchVerb::all_to_all:
    case BenchVerb::gather:
    case BenchVerb::scatter:
      return (n - 1) / n;
    case BenchVerb::reduce:
    case BenchVerb::broadcast:
    case BenchVerb::barrier:
    case BenchVerb::sendrecv:
    case BenchVerb::latency:
    case BenchVerb::bandwidth:
      return 1;
  }
  return 0;
}

std::size_t count_for(BenchVerb verb, std::size_t bytes, DType dtype, int ranks) noexcept {
  if (verb == BenchVerb::barrier) return 0;
  const std::size_t parts = info_of(verb).parts ? static_cast<std::size_t>(ranks) : 1;
  return std::max<std::size_t>(1, bytes / size_of(dtype) / parts);
}

std::size_t bytes_for(BenchVerb verb, std::size_t count, DType dtype, int ranks) noexcept {
  const std::size_t parts = info_of(verb).parts ? static_cast<std::size_t>(ranks) : 1;
  return count * size_of(dtype) * parts;
}

}  // namespace rondo::tools::bench
