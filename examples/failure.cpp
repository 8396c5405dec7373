/// One rank fails while the others wait for it: nobody hangs, and every rank learns the first cause.

#include <cstdio>
#include <stdexcept>
#include <string>

#include "ranks.hpp"

void read_shard(const rondo::Group& group) {
  if (group.rank() == 2) throw std::runtime_error("shard 2 of the data is unreadable");
  group.barrier();  // the other ranks wait here, for a rank that will not come
}

/// Returns whether this rank knows that rank 2 was the first to fail, and why.
bool work(const rondo::Group& group) {
  if (group.size() < 3)
    throw std::runtime_error("there is no rank 2 to fail among " + std::to_string(group.size()));
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

int main() { return run_ranks(4, work); }
