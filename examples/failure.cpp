/// One rank fails while the others wait for it: nobody hangs, and every rank learns the first cause.

#include <atomic>
#include <cstdio>
#include <rondo/rondo.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

void read_shard(const rondo::Group& group) {
  if (group.rank() == 2) throw std::runtime_error("shard 2 of the data is unreadable");
  group.barrier();  // the other ranks wait here, for a rank that will not come
}

/// Returns whether this rank knows that rank 2 was the first to fail, and why.
bool work(const rondo::Group& group) {
  try {
    read_shard(group);
    return false;
  } catch (const rondo::Error& error) {
    std::printf("rank %d was told: %s\n", group.rank(), error.what());
    if (error.kind() != rondo::ErrorKind::aborted || error.peer() != 2) return false;
  } catch (const std::exception& error) {
    std::printf("rank %d failed: %s\n", group.rank(), error.what());
    group.abort(error.what());
  }
  const rondo::Failure cause = group.failure().value();
  return cause.rank == 2 && cause.text.find("shard 2 of the data is unreadable") != std::string::npos;
}

int main() {
  std::atomic<int> right_ranks = 0;
  {
    std::vector<std::jthread> threads;
    for (const rondo::Group& group : rondo::sim_group(4)) {
      threads.emplace_back([group, &right_ranks] { right_ranks += work(group) ? 1 : 0; });
    }
  }
  return right_ranks == 4 ? 0 : 1;
}
