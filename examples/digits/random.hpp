#pragma once
/// Random numbers by hand, so that a seed means the same numbers with every standard library.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace digits {

/// The generator SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
  }

  /// A whole number in [0, limit); the modulo favours small ones by less than limit / 2^64.
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }

  /// A number in [-limit, limit).
  double symmetric(double limit) {
    const double unit = static_cast<double>(next() >> 11U) * 0x1p-53;  // 53 bits: exact in a double
    return limit * (2.0 * unit - 1.0);
  }

 private:
  std::uint64_t state_;
};

/// 0, 1, ... count - 1 in random order (Fisher and Yates).
inline std::vector<std::size_t> shuffled_indices(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  Random random(seed);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace digits
