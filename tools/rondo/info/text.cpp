#include <fmt/format.h>

#include "info/info.hpp"
#include "rondo/info.hpp"

namespace rondo::tools::info {

namespace {

std::string bytes_text(const Json& value) {
  if (!value.is_number()) return value.is_string() ? value.get<std::string>() : "unknown";
  const auto bytes = value.get<double>();
  for (const auto& [worth, unit] :
       {std::pair<double, const char*>{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}})
    if (bytes >= worth) return fmt::format("{:.4g} {}", bytes / worth, unit);
  return fmt::format("{} B", bytes);
}

std::string text_of(const Json& value, const std::string& missing) {
  if (value.is_null()) return missing;
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string line(const std::string& name, const std::string& value) {
  return fmt::format("  {:<20} {}\n", name, value);
}

std::string settings_text(const Json& settings) {
  std::string text = "Settings\n";
  for (const Json& each : settings) {
    const std::string value = text_of(each["value"], "not set");
    text += line(each["name"],
                 fmt::format("{} ({})", value.empty() ? "none" : value, each["origin"].get<std::string>()));
    if (each.contains("error")) text += line("", "! " + each["error"].get<std::string>());
  }
  return text;
}

std::string topology_text(const Json& topology) {
  std::string text = "Topology\n";
  if (topology.contains("error")) return text + line("error", topology["error"]);
  for (const char* name : {"packages", "cores", "hardware threads"})
    text += line(name, topology[name].dump());
  for (const Json& node : topology["numa nodes"])
    text += line(fmt::format("NUMA node {}", node["node"].dump()),
                 fmt::format("{}, cores {}", bytes_text(node["bytes"]), node["cores"].get<std::string>()));
  for (const Json& cache : topology["caches"])
    text += line(fmt::format("{} cache", cache["level"].get<std::string>()),
                 fmt::format("{} x {}, lines of {} B", cache["count"].dump(), bytes_text(cache["bytes"]),
                             cache["line"].dump()));
  return text;
}

std::string interfaces_text(const Json& section) {
  std::string text = "Interfaces\n";
  if (section.contains("addresses")) {
    for (const Json& each : section["addresses"]) {
      text += line(each["name"], fmt::format("{}{}{}{}", each["address"].get<std::string>(),
                                             each["up"] ? "" : ", down", each["loopback"] ? ", loopback" : "",
                                             each["allowed"] ? "" : ", excluded by RONDO_INTERFACE"));
    }
  }
  if (section.contains("error")) return text + line("error", section["error"]);
  return text + line("told to others", fmt::format("{}: {}", text_of(section["told to others"], "nothing"),
                                                   section["because"].get<std::string>()));
}

std::string limits_text(const Json& limits) {
  std::string text = "Limits\n";
  const Json& files = limits["open descriptors"];
  if (!files.is_null())
    text += line("open descriptors", fmt::format("{}, can be raised to {}", text_of(files["soft"], ""),
                                                 text_of(files["hard"], "")));
  const Json& locked = limits["locked memory"];
  if (!locked.is_null()) text += line("locked memory", bytes_text(locked["soft"]));
  text += line("available memory", text_of(limits["available memory"], "unknown"));
  const Json& shared = limits["/dev/shm"];
  text += line("/dev/shm", shared.is_null() ? "not mounted"
                                            : fmt::format("{}, {} free", bytes_text(shared["bytes"]),
                                                          bytes_text(shared["free"])));
  return text + line("ptrace scope", text_of(limits["ptrace scope"], "not restricted by yama"));
}

}  // namespace

std::string info_text(const Json& info) {
  std::string text = fmt::format("rondo {} (compiled by {})\n", info["rondo"].get<std::string>(),
                                 info["compiler"].get<std::string>());
  const Json& system = info["system"];
  text += "\nSystem\n" + line("host", system["host"]) + line("system", system["system"]) +
          line("processor", text_of(system["processor"], "unknown"));
  text += "\nBackends\n";
  for (const Json& each : info["backends"])
    text += line(each["name"],
                 each["available"] ? "available" : "not available: " + each["reason"].get<std::string>());
  text += "\n" + settings_text(info["settings"]);
  const Json& cores = info["cores"];
  text += "\nCores\n" + line("usable", cores["usable"].dump()) + line("online", cores["online"].dump()) +
          line("by affinity", text_of(cores["affinity"], "unknown")) +
          line("cgroup quota", text_of(cores["cgroup quota"], "none"));
  text += "\n" + topology_text(info["topology"]);
  text += "\n" + interfaces_text(info["interfaces"]);
  text += "\n" + limits_text(info["limits"]);
  text += "\nSelection of algorithms (the first row that fits)\n";
  if (info.contains("selection problem"))
    text += info["selection problem"].get<std::string>() + "; the shipped table:\n";
  return text + info["selection text"].get<std::string>();
}

}  // namespace rondo::tools::info
