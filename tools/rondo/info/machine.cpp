#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <thread>

#include "base/cores.hpp"
#include "info/sections.hpp"

namespace rondo::tools::info {

namespace {

// The first line of a file; null when there is none.
Json first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return {};
  return line;
}

// What stands behind "name:" in a file of such lines.
Json value_of(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(name)) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return {};
}

Json limit(rlim_t value) { return value == RLIM_INFINITY ? Json("unlimited") : Json(value); }

Json resource(decltype(RLIMIT_NOFILE) which) {
  rlimit limits{};
  if (::getrlimit(which, &limits) != 0) return {};
  return {{"soft", limit(limits.rlim_cur)}, {"hard", limit(limits.rlim_max)}};
}

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {nullptr, hwloc_topology_destroy};
  Topology owned(topology, hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) return {nullptr, hwloc_topology_destroy};
  return owned;
}

std::size_t number_of(const Topology& topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology.get(), type);
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

std::string cores_of(hwloc_const_bitmap_t set) {
  std::array<char, 256> text{};
  (void)hwloc_bitmap_list_snprintf(text.data(), text.size(), set);
  return text.data();
}

Json caches(const Topology& topology) {
  constexpr std::array<std::pair<hwloc_obj_type_t, const char*>, 5> levels = {{{HWLOC_OBJ_L1CACHE, "L1"},
                                                                               {HWLOC_OBJ_L2CACHE, "L2"},
                                                                               {HWLOC_OBJ_L3CACHE, "L3"},
                                                                               {HWLOC_OBJ_L4CACHE, "L4"},
                                                                               {HWLOC_OBJ_L5CACHE, "L5"}}};
  Json found = Json::array();
  for (const auto& [type, name] : levels) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(topology.get(), type, 0);
    if (cache == nullptr) continue;
    found.push_back({{"level", name},
                     {"bytes", cache->attr->cache.size},
                     {"line", cache->attr->cache.linesize},
                     {"count", number_of(topology, type)},
                     {"cores of the first", cores_of(cache->cpuset)}});
  }
  return found;
}

Json numa_nodes(const Topology& topology) {
  Json nodes = Json::array();
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    nodes.push_back({{"node", node->os_index},
                     {"bytes", node->attr->numanode.local_memory},
                     {"cores", cores_of(node->cpuset)}});
  }
  return nodes;
}

}  // namespace

Json system_section() {
  utsname system{};
  (void)::uname(&system);
  return {{"host", system.nodename},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
          {"processor", value_of("/proc/cpuinfo", "model name")}};
}

Json cores_section() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  const bool known = ::sched_getaffinity(0, sizeof(mask), &mask) == 0;
  return {{"usable", base::usable_cores()},
          {"online", std::thread::hardware_concurrency()},
          {"affinity", known ? Json(CPU_COUNT(&mask)) : Json()},
          {"cgroup quota", first_line("/sys/fs/cgroup/cpu.max")}};
}

Json topology_section() {
#ifdef __linux__
  // hwloc would complain on its own, and guess.
  if (::access("/sys/devices/system/cpu", R_OK) != 0)
    return {{"error", "/sys, which tells of caches and NUMA nodes, cannot be read here"}};
#endif
  const Topology topology = load_topology();
  if (!topology) return {{"error", "hwloc cannot read the topology of this machine"}};
  return {{"packages", number_of(topology, HWLOC_OBJ_PACKAGE)},
          {"cores", number_of(topology, HWLOC_OBJ_CORE)},
          {"hardware threads", number_of(topology, HWLOC_OBJ_PU)},
          {"numa nodes", numa_nodes(topology)},
          {"caches", caches(topology)}};
}

Json limits_section() {
  Json limits;
  limits["open descriptors"] = resource(RLIMIT_NOFILE);
  limits["locked memory"] = resource(RLIMIT_MEMLOCK);
  limits["available memory"] = value_of("/proc/meminfo", "MemAvailable");
  struct statvfs space {};
  const bool mounted = ::statvfs("/dev/shm", &space) == 0;
  limits["/dev/shm"] =
      mounted ? Json{{"bytes", space.f_blocks * space.f_frsize}, {"free", space.f_bavail * space.f_frsize}}
              : Json();
  // Without the file nothing restricts who may trace whom, beyond the rights of users.
  limits["ptrace scope"] = first_line("/proc/sys/kernel/yama/ptrace_scope");
  return limits;
}

}  // namespace rondo::tools::info
