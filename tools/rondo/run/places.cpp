#include "run/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace rondo::tools::run {

namespace {

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

void set(std::vector<std::string>& variables, const std::string& variable) {
  std::erase_if(variables, [&](const std::string& each) { return name_of(each) == name_of(variable); });
  variables.push_back(variable);
}

}  // namespace

std::vector<std::string> environment_of(int rank, const RunOptions& options, const JobPlace& place,
                                        const std::vector<std::string>& given) {
  std::vector<std::string> variables = given;
  // Of a launcher around this one: its secret is not that of this job.
  std::erase_if(variables, [](const std::string& each) { return name_of(each) == "RONDO_SECRET_FILE"; });
  for (const std::string& each : options.environment) set(variables, each);
  if (!options.backend.empty()) set(variables, "RONDO_BACKEND=" + options.backend);
  set(variables, fmt::format("RONDO_RANK={}", rank));
  set(variables, fmt::format("RONDO_SIZE={}", options.ranks));
  set(variables, fmt::format("RONDO_LOCAL_RANK={}", rank));
  set(variables, fmt::format("RONDO_LOCAL_SIZE={}", options.ranks));
  set(variables, "RONDO_RENDEZVOUS=" + place.rendezvous);
  set(variables, "RONDO_LAUNCHER=" + place.launcher);
  set(variables, fmt::format("RONDO_SECRET_FD={}", place.secret_fd));
  return variables;
}

}  // namespace rondo::tools::run
