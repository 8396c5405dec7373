#pragma once
/// Seconds over bytes, known at some sizes.

#include <cstddef>
#include <vector>

namespace rondo::tools::bench {

class Curve {
 public:
  struct Point {
    std::size_t bytes;
    double seconds;
  };

  /// In the order of sizes.
  void add(std::size_t bytes, double seconds) { points_.push_back({bytes, seconds}); }
  bool empty() const noexcept { return points_.empty(); }
  const std::vector<Point>& points() const noexcept { return points_; }
  /// Null when it was not measured there.
  const Point* find(std::size_t bytes) const noexcept;
  /// Between points: straight on logarithmic axes. Before the first point it takes as long as that one,
  /// beyond the last it has the rate of that one. The curve is not empty.
  double at(double bytes) const noexcept;
  /// Bytes per second of work that goes on in blocks of `bytes`: the rate at the nearest point inside the
  /// curve, so that the fixed cost of a small call does not count for less than the first point.
  double rate(double bytes) const noexcept;

 private:
  std::vector<Point> points_;
};

}  // namespace rondo::tools::bench
