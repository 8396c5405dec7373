#include "bench/curve.hpp"

#include <algorithm>
#include <cmath>

namespace rondo::tools::bench {

const Curve::Point* Curve::find(std::size_t bytes) const noexcept {
  const auto found = std::ranges::find(points_, bytes, &Point::bytes);
  return found == points_.end() ? nullptr : &*found;
}

double Curve::at(double bytes) const noexcept {
  const Point& first = points_.front();
  const Point& last = points_.back();
  if (bytes <= static_cast<double>(first.bytes)) return first.seconds;
  if (bytes >= static_cast<double>(last.bytes)) return last.seconds * bytes / static_cast<double>(last.bytes);
  const auto after = std::ranges::find_if(
      points_, [&](const Point& each) { return static_cast<double>(each.bytes) >= bytes; });
  const Point& high = *after;
  const Point& low = *(after - 1);
  const double along = std::log(bytes / static_cast<double>(low.bytes)) /
                       std::log(static_cast<double>(high.bytes) / static_cast<double>(low.bytes));
  return low.seconds * std::pow(high.seconds / low.seconds, along);
}

double Curve::rate(double bytes) const noexcept {
  const double inside = std::clamp(bytes, static_cast<double>(points_.front().bytes),
                                   static_cast<double>(points_.back().bytes));
  return inside / at(inside);
}

}  // namespace rondo::tools::bench
