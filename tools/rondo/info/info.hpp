#pragma once
/// `rondo info`: what rondo finds here, and what it would do with it.

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rondo::tools::info {

struct InfoOptions {
  bool json = false;
};

/// Adds the subcommand `info`, which fills `options` when it is parsed.
CLI::App* add_info(CLI::App& app, InfoOptions& options);

/// Prints; gives the exit status. `environment`: NAME=VALUE.
int info(const InfoOptions& options, const std::vector<std::string>& environment);

using Json = nlohmann::ordered_json;

/// All of it, by section. What cannot be found out is null or has an "error".
Json collect_info(const std::vector<std::string>& environment);
/// The same content for people.
std::string info_text(const Json& info);

}  // namespace rondo::tools::info
