#include "base/cores.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace rondo::base {

namespace {

int affinity_cores() {
  const std::size_t allowed = allowed_cores().size();
  return allowed > 0 ? static_cast<int>(allowed)
                     : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// cgroup v2: "max 100000" or "150000 100000".
int quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1 << 20;
  return std::max(1, static_cast<int>(std::floor(std::strtod(quota.c_str(), nullptr) / period)));
}

}  // namespace

int usable_cores() noexcept {
  static const int cores = [] {
    try {
      return std::min(affinity_cores(), quota_cores());
    } catch (...) {
      return 1;
    }
  }();
  return cores;
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
#ifdef __linux__
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &mask)) cores.push_back(core);
  }
#endif
  return cores;
}

void visit_core(int index) {
#ifdef __linux__
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const std::vector<int> cores = allowed_cores();
  if (index < 0 || cores.empty() || sched_getaffinity(0, sizeof(mask), &mask) != 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cores[static_cast<std::size_t>(index) % cores.size()]), &one);
  if (sched_setaffinity(0, sizeof(one), &one) == 0) (void)sched_setaffinity(0, sizeof(mask), &mask);
#else
  (void)index;
#endif
}

}  // namespace rondo::base
