#pragma once
/// Geometry of a ring of n ranks: rank r sends to r + 1 and receives from r - 1, all modulo n. Segment s is
/// the part of the vector that rank s ends up with.

namespace rondo::collective::ring {

constexpr int modulo(int value, int n) noexcept { return ((value % n) + n) % n; }
constexpr int next(int rank, int n) noexcept { return modulo(rank + 1, n); }
constexpr int previous(int rank, int n) noexcept { return modulo(rank - 1, n); }

/// Steps of either phase.
constexpr int steps(int n) noexcept { return n - 1; }

// Reduce-scatter. Segment s starts at rank s + 1, walks the ring, and is finished by rank s.
constexpr int reduce_sends(int rank, int step, int n) noexcept { return modulo(rank - step - 1, n); }
constexpr int reduce_receives(int rank, int step, int n) noexcept { return modulo(rank - step - 2, n); }

// All-gather. Segment s starts at rank s and walks the ring up to rank s - 1.
constexpr int gather_sends(int rank, int step, int n) noexcept { return modulo(rank - step, n); }
constexpr int gather_receives(int rank, int step, int n) noexcept { return modulo(rank - step - 1, n); }

}  // namespace rondo::collective::ring
