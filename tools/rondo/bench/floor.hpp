#pragma once
/// The floors of this machine: what nothing that runs on it can go below.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/curve.hpp"

namespace rondo::tools::bench {

/// One way between two ends and no data to speak of, in seconds.
struct Trips {
  std::optional<double> polled;    ///< both ends look again and again
  std::optional<double> blocking;  ///< both ends sleep until the system wakes them
};

/// What one kind of socket does between two cores of this host.
struct SocketFloor {
  Trips trip;
  struct Stream {
    std::string how;  ///< the congestion control; empty where there is none
    double rate;      ///< bytes per second, one way
  };
  std::vector<Stream> streams;  ///< the fastest is first
  Curve exchange;  ///< both ends send so many bytes to each other at once, and look again and again
};

struct Floors {
  int cores = 1;               ///< those that are used
  std::optional<double> trip;  ///< a store seen on another core, in seconds
  double clock = 0;            ///< a look at the clock
  double system_call = 0;
  std::optional<double> futex;           ///< a wake-up on another core
  std::optional<double> futex_one_core;  ///< of a thread on the same core
  Curve copy_one;                        ///< memcpy on one core
  Curve copy_all;                        ///< one memcpy while every core does its own
  Curve add_one;                         ///< a[i] + b[i] of float32 to a third memory; bytes of the result
  Curve add_all;
  Curve pull;  ///< process_vm_readv
  SocketFloor tcp;
  SocketFloor local;  ///< AF_UNIX
};

struct FloorPlan {
  std::vector<std::size_t> sizes;  ///< in order
  double seconds = 0.02;           ///< for each figure, about
  bool tcp = true;
  bool everything = true;  ///< else only what the floors of collectives are made of

  /// Those up to `most`.
  std::vector<std::size_t> sizes_within(std::size_t most) const;
};

/// Below this, two cores are called near: they share a cache or a piece of one.
inline constexpr double near_trip = 100e-9;
/// "near: 62 ns", "far: 210 ns", or why there is no trip.
std::string trip_text(const std::optional<double>& trip);

/// Seconds from a store on one core to its sight on another; nothing where this process has one core only.
/// Takes a few milliseconds.
std::optional<double> cross_core_trip();

/// Each figure is the least of several samples, a sample the mean of at least some 20 us: what the machine
/// does when nobody disturbs. `stop`: asked between figures whether to leave out the rest.
Floors measure_floors(const FloorPlan& plan, const std::function<bool()>& stop);

}  // namespace rondo::tools::bench
