/// Messages around a ring: each rank passes on what it got, until every parcel has come home.

#include <array>
#include <cstdio>

#include "ranks.hpp"

/// Returns whether this rank saw every rank's parcel once, in the order of the ring.
bool pass_around(const rondo::Group& group) {
  const int left = (group.rank() + group.size() - 1) % group.size();
  const int right = (group.rank() + 1) % group.size();
  std::array<double, 2> parcel{1.0 * group.rank(), 10.0 * group.rank()};
  std::array<double, 2> arrived{};
  for (int step = 1; step <= group.size(); ++step) {
    // To the right and from the left at once. A send and a receive, one after the other, would make every
    // rank wait for the next one as soon as the parcel is large.
    const rondo::MessageInfo info = group.sendrecv(parcel, right, arrived, left, {.tag = step});
    parcel = arrived;
    const int owner = (group.rank() + group.size() - step) % group.size();
    if (info.source != left || info.tag != step || parcel != std::array{1.0 * owner, 10.0 * owner})
      return false;
  }
  std::printf("rank %d of %d: my parcel came home as [%g, %g]\n", group.rank(), group.size(), parcel[0],
              parcel[1]);
  return true;
}

int main() { return run_ranks(4, pass_around); }
