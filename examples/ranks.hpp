#pragma once
/// What the examples share: where their ranks come from.

#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <rondo/rondo.hpp>
#include <thread>
#include <vector>

/// What one rank does; it returns whether all is as it should be.
using RankMain = std::function<bool(const rondo::Group&)>;

/// One rank from start to end. Whoever fails tells the others, so that they do not wait in vain.
inline bool run_rank(const rondo::Group& group, const RankMain& rank_main) {
  try {
    return rank_main(group);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", group.rank(), error.what());
    group.abort(error.what());
    return false;
  }
}

/// In a job (`rondo run -n 4 -- ./example`) this process is one of its ranks; otherwise there are `size`
/// ranks, each a thread of this process. Returns the exit status: 0 when all ranks of the process are
/// content.
inline int run_ranks(int size, const RankMain& rank_main) {
  try {
    if (rondo::Config::from_env().size) return run_rank(rondo::init(/*strict=*/true), rank_main) ? 0 : 1;
  } catch (const rondo::Error& error) {  // there is no such job
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  std::atomic<int> content = 0;
  {
    std::vector<std::jthread> threads;
    for (const rondo::Group& group : rondo::sim_group(size)) {
      threads.emplace_back([&, group] { content += run_rank(group, rank_main) ? 1 : 0; });
    }
  }
  return content == size ? 0 : 1;
}
