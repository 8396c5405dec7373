/// The ten lines of the README: four ranks, each a thread, add up a number.

#include <cstdio>
#include <rondo/rondo.hpp>
#include <thread>
#include <vector>

int main() {
  std::vector<std::jthread> threads;
  for (const rondo::Group& group : rondo::sim_group(4)) {
    threads.emplace_back([group] {
      const rondo::Tensor sum = group.all_sum(rondo::Tensor::scalar(group.rank() + 1));
      std::printf("rank %d of %d: the sum is %d\n", group.rank(), group.size(), sum.span<int>()[0]);
    });
  }
}
