#include "bench/facts.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/cores.hpp"
#include "bench/floor.hpp"

namespace rondo::tools::bench {

namespace {

using Json = nlohmann::ordered_json;

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// What differs from the defaults. A rank's place in the job is no property of the measurement.
Json settings() {
  const std::set<std::string> places = {"RONDO_RANK",     "RONDO_SIZE",      "RONDO_RENDEZVOUS",
                                        "RONDO_LAUNCHER", "RONDO_SECRET_FD", "RONDO_SECRET_FILE"};
  const std::string defaults = "\n" + to_string(Config());
  std::istringstream lines(to_string(Config::from_env()));
  Json changed = Json::object();
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    const std::string name = line.substr(0, equals);
    if (!places.contains(name) && defaults.find("\n" + line + "\n") == std::string::npos)
      changed[name] = line.substr(equals + 1);
  }
  return changed;
}

std::string_view mode_text(Mode mode) {
  switch (mode) {
    case Mode::back_to_back:
      return "back-to-back: a sample is a batch of calls with nothing between them, divided by their number";
    case Mode::fenced:
      return "fenced: a sample is one call, with a barrier before it";
  }
  return "?";
}

// One backend, or several that take turns; what `any` has become is said too.
std::string backend_text(const Field& field) {
  std::string text;
  for (const auto& [name, group] : field.contenders) {
    const std::string_view real = to_string(group.backend());
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
    if (!name.starts_with(real)) text += fmt::format(" ({})", real);
  }
  return field.contenders.size() == 1 ? text : text + ", which take turns";
}

}  // namespace

Json machine_facts() {
  utsname system{};
  (void)::uname(&system);
  Json facts;
  facts["rondo bench"] = RONDO_VERSION;
  facts["host"] = system.nodename;
  facts["system"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  facts["processor"] = processor();
  facts["usable cores"] = base::usable_cores();
  return facts;
}

std::string header_text(const Json& header) {
  std::string lines;
  for (const auto& [name, value] : header.items()) {
    std::string text;
    if (value.is_object()) {
      for (const auto& [inner, word] : value.items())
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", inner, word.get<std::string>());
      if (text.empty()) text = "defaults";
    } else {
      text = value.is_string() ? value.get<std::string>() : value.dump();
    }
    lines += fmt::format("# {}: {}\n", name, text);
  }
  return lines;
}

Json facts_of(const Field& field, const BenchOptions& options, std::optional<double> trip) {
  const Group& group = field.control;
  Json facts = machine_facts();
  facts["cores"] = trip_text(trip);
  facts["backend"] = backend_text(field);
  facts["ranks"] = group.size();
  facts["ranks on this host"] = group.local_size();
  if (!group.fallback_reason().empty()) facts["a group of one"] = group.fallback_reason();
  facts["mode"] = mode_text(options.effort.mode);
  if (options.shared_memory) facts["memory"] = "shared: tensors of Group::allocate";
  facts["times"] =
      "every sample as long as on the slowest rank; bandwidths from the median, 1 GB/s = 1e9 B/s";
  facts["clock read (ns)"] = fmt::format("{:.0f}", clock_cost() * 1e9);
  facts["check"] = options.check ? "on: one more call per row, compared bit by bit" : "off";
  facts["settings"] = settings();
  return facts;
}

}  // namespace rondo::tools::bench
