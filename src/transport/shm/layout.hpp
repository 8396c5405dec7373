#pragma once
/// Where things lie in the segments of shared memory. All of it is plain arithmetic; zero is a valid start of
/// everything.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bell.hpp"
#include "transport/arena.hpp"
#include "transport/byte_ring.hpp"
#include "transport/doors.hpp"
#include "transport/header.hpp"

namespace rondo::transport::shm {

inline constexpr std::size_t page_bytes = 4096;
/// The maker's token.
inline constexpr std::size_t token_bytes = 64;

constexpr std::size_t page_up(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// The segment of a job: a bell for every rank, and behind what is reserved and mapped by all, a heap for
/// every rank (heap.hpp).
struct JobLayout {
  std::size_t ranks;
  std::size_t heap_bytes;

  std::size_t bell(std::size_t rank) const { return token_bytes + rank * sizeof(base::Bell); }
  std::size_t reserved() const { return page_up(bell(ranks)); }
  std::size_t heap(std::size_t rank) const { return reserved() + rank * heap_bytes; }
  std::size_t bytes() const { return heap(ranks); }
};

static_assert(alignof(Published) >= token_bytes);  // they begin behind the token
static_assert(alignof(Published) >= alignof(Door) && alignof(Door) >= alignof(RingState));

/// Behind the token of a group's segment: 1 once a rank has failed the group.
inline constexpr std::size_t failed_at = 32;
static_assert(failed_at + sizeof(std::atomic<std::uint32_t>) <= token_bytes);

/// The segment of a group of `ranks` with `slot_bytes` of arena for each. What stands before the rings is
/// reserved when the segment is made; a ring by its writer at the first byte.
struct GroupLayout {
  std::size_t ranks;
  std::size_t slot_bytes;

  /// Of each ring: one direction of a pair's lane. Larger rings carry more; there are as many as pairs.
  std::size_t ring_bytes() const { return (ranks <= 8 ? 256 : ranks <= 32 ? 128 : 64) * std::size_t{1024}; }
  std::size_t published(std::size_t rank) const { return alignof(Published) + rank * sizeof(Published); }
  std::size_t door(std::size_t rank) const { return published(ranks) + rank * sizeof(Door); }
  std::size_t ring_index(std::size_t from, std::size_t to, std::size_t lane) const {
    return (from * ranks + to) * lane_count + lane;
  }
  std::size_t ring_state(std::size_t index) const { return door(ranks) + index * sizeof(RingState); }
  std::size_t slot(std::size_t rank) const {
    return page_up(ring_state(ranks * ranks * lane_count)) + rank * slot_bytes;
  }
  std::size_t reserved() const { return page_up(slot(ranks)); }
  std::size_t ring(std::size_t index) const { return reserved() + index * ring_bytes(); }
  std::size_t bytes() const { return ring(ranks * ranks * lane_count); }
};

}  // namespace rondo::transport::shm
