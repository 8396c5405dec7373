#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/config_parse.hpp"
#include "info/sections.hpp"

namespace rondo::tools::info {

namespace {

/// What the environment says of each setting.
class Environment {
 public:
  explicit Environment(const std::vector<std::string>& variables) {
    for (const std::string& each : variables) {
      const std::size_t equals = each.find('=');
      if (equals != std::string::npos) values_.emplace(each.substr(0, equals), each.substr(equals + 1));
    }
  }

  const std::string* find(const std::string& name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? nullptr : &at->second;
  }
  /// Why the value of this variable cannot be used; empty when it can, or is not set.
  std::string problem(const std::string& name) const {
    try {
      (void)base::parse_config([&](const char* asked) { return name == asked ? value(name) : nullptr; });
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }
  /// How those that can be used do not go together: the variable that is amiss, and why.
  std::optional<std::pair<std::string, std::string>> discord() const {
    const Config config = usable();
    try {
      base::validate(config);
    } catch (const Error& error) {
      return std::pair("RONDO_RANK", error.what());
    }
    const std::string missing = base::incomplete_reason(config);
    if (missing.empty() || (!config.rank && !config.size && config.rendezvous.empty())) return std::nullopt;
    const char* const one = !config.rank ? "RONDO_RANK" : !config.size ? "RONDO_SIZE" : "RONDO_RENDEZVOUS";
    return std::pair(one, "no job is described: " + missing);
  }
  /// Those that look like settings, and are none: most likely misspelt.
  std::vector<std::pair<std::string, std::string>> strangers() const {
    std::vector<std::pair<std::string, std::string>> found;
    const auto settings = base::describe_settings();
    for (const auto& [name, value] : values_) {
      if (name.starts_with("RONDO_") &&
          std::ranges::find(settings, name, &base::SettingInfo::name) == settings.end())
        found.emplace_back(name, value);
    }
    return found;
  }
  Config usable() const {
    return base::parse_config(
        [this](const char* asked) -> const char* { return problem(asked).empty() ? value(asked) : nullptr; });
  }

 private:
  const char* value(const std::string& name) const {
    const std::string* found = find(name);
    return found == nullptr ? nullptr : found->c_str();
  }

  std::multimap<std::string, std::string> values_;  // the first of a name counts, as for getenv
};

}  // namespace

Config usable_config(const std::vector<std::string>& environment) {
  return Environment(environment).usable();
}

Json settings_section(const std::vector<std::string>& environment) {
  const Environment variables(environment);
  std::map<std::string, std::string> printed;
  std::istringstream lines(to_string(variables.usable()));
  for (std::string line; std::getline(lines, line);)
    printed.emplace(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
  Json settings = Json::array();
  for (const base::SettingInfo& each : base::describe_settings()) {
    const std::string& name = each.name;
    Json setting;
    setting["name"] = name;
    const auto value = printed.find(name);
    setting["value"] = value == printed.end() ? Json() : Json(value->second);
    setting["origin"] = variables.find(name) != nullptr ? "environment" : "default";
    if (const std::string problem = variables.problem(name); !problem.empty()) {
      setting["value"] = *variables.find(name);
      setting["error"] = problem;
    }
    settings.push_back(std::move(setting));
  }
  if (const auto discord = variables.discord()) {
    const auto at =
        std::ranges::find_if(settings, [&](const Json& each) { return each["name"] == discord->first; });
    if (at != settings.end() && !at->contains("error")) (*at)["error"] = discord->second;
  }
  for (const auto& [name, value] : variables.strangers())
    settings.push_back(
        {{"name", name}, {"value", value}, {"origin", "environment"}, {"error", "no setting has this name"}});
  return settings;
}

}  // namespace rondo::tools::info
