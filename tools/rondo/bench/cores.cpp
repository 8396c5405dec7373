#include "bench/cores.hpp"

#include <sched.h>

#include <exception>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/cores.hpp"
#include "base/fd.hpp"

namespace rondo::tools::bench {

namespace {

void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0)
    throw std::runtime_error("a thread cannot be kept on its core: " + base::error_words(errno));
}

}  // namespace

std::vector<int> cores_to_use() {
  std::vector<int> cores = base::allowed_cores();
  const auto usable = static_cast<std::size_t>(base::usable_cores());
  if (cores.size() > usable) cores.resize(usable);
  return cores;
}

void on_cores(const std::vector<int>& cores, const std::function<void(std::size_t)>& body) {
  std::exception_ptr first;
  std::mutex mutex;
  std::latch placed(static_cast<std::ptrdiff_t>(cores.size()));
  std::latch everyone_knows(static_cast<std::ptrdiff_t>(cores.size()));  // before a body can fail
  const auto guarded = [&](const auto& act) {
    try {
      act();
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  const auto all_placed = [&] {
    std::lock_guard lock(mutex);
    return !first;
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    threads.emplace_back([&, i] {
      guarded([&] { stay_on(cores[i]); });
      placed.arrive_and_wait();  // bodies wait for each other: all run, or none
      const bool run = all_placed();
      everyone_knows.arrive_and_wait();
      if (run) guarded([&] { body(i); });
    });
  }
  for (std::thread& each : threads) each.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace rondo::tools::bench
