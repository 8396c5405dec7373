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
#ifdef __linux__
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) return std::max(1, CPU_COUNT(&mask));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
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

}  // namespace rondo::base
