#include "bench/floor_model.hpp"

#include <algorithm>

namespace rondo::tools::bench {

namespace {

/// Calls whose ranks need not wait for each other have no floor below this: what they cost is the call
/// itself.
constexpr std::size_t least_overlapping = 4096;

// Some ranks only send, so without a fence the next call begins before the others have got this one.
bool overlaps(BenchVerb verb) noexcept {
  switch (verb) {
    case BenchVerb::reduce:
    case BenchVerb::broadcast:
    case BenchVerb::gather:
    case BenchVerb::scatter:
    case BenchVerb::bandwidth:
      return true;
    case BenchVerb::all_reduce:
    case BenchVerb::all_gather:
    case BenchVerb::reduce_scatter:
    case BenchVerb::all_to_all:
    case BenchVerb::barrier:
    case BenchVerb::sendrecv:
    case BenchVerb::latency:
      return false;
  }
  return false;
}

/// Bytes that the busiest rank copies and adds where all memory is within reach of all, and whether all ranks
/// copy at once.
struct Work {
  double copied = 0;
  double added = 0;
  bool all_copy = true;
};

Work work_of(const FloorCall& call) noexcept {
  const double size = static_cast<double>(call.bytes);
  const double others = size * (call.ranks - 1) / call.ranks;
  const double gathered = call.in_place ? others : size;  // its own part is where it belongs already
  switch (call.verb) {
    case BenchVerb::all_reduce:
      return {others, others, true};
    case BenchVerb::reduce:
      return {others, others, false};
    case BenchVerb::reduce_scatter:
      return {0, others, true};
    case BenchVerb::all_gather:
    case BenchVerb::all_to_all:
      return {gathered, 0, true};
    case BenchVerb::gather:
      return {gathered, 0, false};
    case BenchVerb::scatter:
      return {size / call.ranks, 0, call.ranks > 2};
    case BenchVerb::broadcast:
      return {size, 0, call.ranks > 2};
    case BenchVerb::sendrecv:
      return {size, 0, true};
    case BenchVerb::latency:
    case BenchVerb::bandwidth:
      return {size, 0, false};
    case BenchVerb::barrier:
      return {};
  }
  return {};
}

// Ranks that share a core take turns.
double turns(const Floors& floors, int ranks) noexcept {
  return std::max(1.0, static_cast<double>(ranks) / floors.cores);
}

std::optional<double> shared_floor(const Floors& floors, const FloorCall& call, bool overlapping) {
  if (!floors.trip || floors.copy_all.empty() || floors.add_all.empty()) return std::nullopt;
  const Work work = work_of(call);
  const double size = static_cast<double>(call.bytes);
  const Curve& copy = work.all_copy ? floors.copy_all : floors.copy_one;
  const double moving = work.copied / copy.rate(size) + work.added / floors.add_all.rate(size);
  const double sharing = work.all_copy ? turns(floors, call.ranks) : 1;
  return (overlapping ? 0 : *floors.trip) + moving * sharing;
}

// Where both directions are in use at once, bare sockets were measured so.
bool both_ways(BenchVerb verb) noexcept {
  return !overlaps(verb) && verb != BenchVerb::latency && verb != BenchVerb::barrier;
}

std::optional<double> tcp_floor(const Floors& floors, const FloorCall& call, bool overlapping) {
  const SocketFloor& tcp = floors.tcp;
  if (!tcp.trip.polled || tcp.exchange.empty()) return std::nullopt;
  const double carried = static_cast<double>(call.bytes) * bus_factor(call.verb, call.ranks);
  if (!both_ways(call.verb)) {
    const double moving = call.verb == BenchVerb::barrier ? 0 : carried / tcp.streams.front().rate;
    return (overlapping ? 0 : *tcp.trip.polled) + moving;
  }
  return std::max(tcp.exchange.at(carried), carried / tcp.exchange.rate(carried) * turns(floors, call.ranks));
}

}  // namespace

std::optional<double> floor_of(const Floors& floors, Backend backend, const FloorCall& call) {
  const bool overlapping = !call.fenced && overlaps(call.verb);
  if (call.ranks < 2 || (overlapping && call.bytes < least_overlapping)) return std::nullopt;
  switch (backend) {
    case Backend::shm:
    case Backend::sim:
      return shared_floor(floors, call, overlapping);
    case Backend::tcp:
      return tcp_floor(floors, call, overlapping);
    case Backend::any:
    case Backend::ring:
    case Backend::mpi:
    case Backend::jaccl:
    case Backend::nccl:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace rondo::tools::bench
