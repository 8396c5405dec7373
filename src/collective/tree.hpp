#pragma once
/// Geometry of trees and hypercubes over n ranks.
///
/// Binomial tree: ranks are counted from the root on, v = (rank - root) mod n. The parent of v is v without
/// its lowest set bit; the children of v are v + 1, v + 2, v + 4, ... below that bit and below n. The subtree
/// of child v + 2^k holds the ranks v + 2^k ... v + 2^(k+1) - 1, so own, then children in order, is v's whole
/// subtree in order.

namespace rondo::collective::tree {

constexpr int from_root(int rank, int root, int n) noexcept { return (rank - root + n) % n; }
constexpr int to_rank(int v, int root, int n) noexcept { return (v + root) % n; }

/// The parent's rank; -1 for the root.
constexpr int parent(int rank, int root, int n) noexcept {
  const int v = from_root(rank, root, n);
  return v == 0 ? -1 : to_rank(v & (v - 1), root, n);
}

constexpr int children(int rank, int root, int n) noexcept {
  const int v = from_root(rank, root, n);
  int count = 0;
  for (int bit = 1; bit < n && (v & bit) == 0 && v + bit < n; bit <<= 1) ++count;
  return count;
}

/// Rank of child `index`, from the smallest subtree to the largest.
constexpr int child(int rank, int root, int n, int index) noexcept {
  return to_rank(from_root(rank, root, n) + (1 << index), root, n);
}

/// The smallest L with 2^L >= n.
constexpr int ceil_log2(int n) noexcept {
  int log = 0;
  while ((1 << log) < n) ++log;
  return log;
}

}  // namespace rondo::collective::tree

namespace rondo::collective::doubling {

/// The largest power of two up to n.
constexpr int core(int n) noexcept {
  int core = 1;
  while (core <= n / 2) core *= 2;
  return core;
}

// Any n by folding: the first 2 (n - core) ranks form pairs of neighbours; the odd one hands its vector to
// the even one and gets the result back. Those left form a hypercube; their places keep the order of ranks.

constexpr int folded(int n) noexcept { return n - core(n); }
/// The other of a pair, or -1 for a rank in none.
constexpr int pair(int rank, int n) noexcept { return rank < 2 * folded(n) ? rank ^ 1 : -1; }
/// True for the one of a pair that stands aside.
constexpr bool aside(int rank, int n) noexcept { return pair(rank, n) >= 0 && rank % 2 == 1; }
constexpr int place(int rank, int n) noexcept { return rank < 2 * folded(n) ? rank / 2 : rank - folded(n); }
constexpr int at_place(int place, int n) noexcept {
  return place < folded(n) ? 2 * place : place + folded(n);
}
/// Whom a rank that is not aside meets in a round (0 ... log2(core) - 1).
constexpr int partner(int rank, int round, int n) noexcept {
  return at_place(place(rank, n) ^ (1 << round), n);
}

}  // namespace rondo::collective::doubling
