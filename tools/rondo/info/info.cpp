#include "info/info.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "info/sections.hpp"
#include "rondo/group.hpp"
#include "rondo/info.hpp"

namespace rondo::tools::info {

namespace {

const char* const info_help = R"(rondo info - what rondo finds here, and what it would do with it

Usage:
  rondo info [--json]

Prints the version, the backends and why one is not available, every setting with its value and where that came
from, the cores that may be used, caches and NUMA nodes, network interfaces and the address that others would be
told, limits of the system, and the table that selects algorithms.

Options:
  --json       Print it as one JSON document.
  -h, --help   Print this.

Under `rondo run` it tells what a rank finds: rondo run -n 1 -- rondo info
)";

Json backends_section() {
  Json backends = Json::array();
  for (int i = 0; i < backend_count; ++i) {
    const auto backend = static_cast<Backend>(i);
    if (backend == Backend::any) continue;
    const std::string reason = unavailable_reason(backend);
    backends.push_back({{"name", to_string(backend)},
                        {"available", reason.empty()},
                        {"reason", reason.empty() ? Json() : Json(reason)}});
  }
  return backends;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json selection_section(const Config& config) {
  Json rows = Json::array();
  for (const SelectionRow& row : selection_table(config)) {
    rows.push_back({{"collective", row.collective},
                    {"least bytes", row.least_bytes},
                    {"most bytes", or_null(row.most_bytes)},
                    {"least ranks", row.least_ranks},
                    {"most ranks", or_null(row.most_ranks)},
                    {"shared memory", or_null(row.shared_memory)},
                    {"combined once", or_null(row.combined_once)},
                    {"algorithm", row.algorithm}});
  }
  return rows;
}

}  // namespace

CLI::App* add_info(CLI::App& app, InfoOptions& options) {
  CLI::App* command = app.add_subcommand("info", "Tell what rondo finds here");
  command->formatter_fn(
      [](const CLI::App*, const std::string&, CLI::AppFormatMode) { return std::string(info_help); });
  command->add_flag("--json", options.json)->disable_flag_override();
  return command;
}

Json collect_info(const std::vector<std::string>& environment) {
  Json info;
  info["rondo"] = RONDO_VERSION;
#ifdef __clang__
  info["compiler"] = __VERSION__;  // names itself
#else
  info["compiler"] = "g++ " __VERSION__;
#endif
  info["system"] = system_section();
  info["backends"] = backends_section();
  info["settings"] = settings_section(environment);
  info["cores"] = cores_section();
  info["topology"] = topology_section();
  info["interfaces"] = interfaces_section(usable_config(environment));
  info["limits"] = limits_section();
  Config config = usable_config(environment);
  try {
    info["selection"] = selection_section(config);
  } catch (const Error& error) {
    info["selection problem"] = error.what();
    info["selection"] = selection_section({});
    config.tuning.clear();
  }
  info["selection text"] = selection_text(config);
  return info;
}

int info(const InfoOptions& options, const std::vector<std::string>& environment) {
  try {
    Json all = collect_info(environment);
    if (options.json) all.erase("selection text");  // for people
    const std::string text =
        options.json ? all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n" : info_text(all);
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    if (!written) fmt::print(stderr, "rondo info: the result could not be written\n");
    return written ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rondo info: {}\n", error.what());
    return 1;
  }
}

}  // namespace rondo::tools::info
