#pragma once
/// The sections of `rondo info`.

#include <string>
#include <vector>

#include "info/info.hpp"
#include "rondo/config.hpp"

namespace rondo::tools::info {

/// name, value (null: not set), origin ("environment" or "default"), and for one that cannot be used an
/// error. Variables that look like settings and are none stand at the end.
Json settings_section(const std::vector<std::string>& environment);
/// The settings that the environment gives, without those that cannot be used.
Config usable_config(const std::vector<std::string>& environment);

Json system_section();
/// How many cores rondo counts on, and from what that follows.
Json cores_section();
/// Packages, NUMA nodes and caches.
Json topology_section();
/// Addresses of this host, and which of them the others would be told.
Json interfaces_section(const Config& config);
Json limits_section();

}  // namespace rondo::tools::info
