/// The smallest program of a job. `rondo run -n 4 -- all_sum` starts four processes, of which each is a rank;
/// without a launcher it is a group of one.

#include <cstdio>
#include <rondo/rondo.hpp>
#include <vector>

int main() {
  const rondo::Group group = rondo::init();
  std::vector<double> values{1.0, 0.5 * group.rank()};
  group.all_sum(values);  // in place: now every rank holds the sums over all ranks
  std::printf("rank %d of %d: [%g, %g]\n", group.rank(), group.size(), values[0], values[1]);
}
