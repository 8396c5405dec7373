#pragma once
/// Where and how a bench ran: what its figures are worth nothing without.

#include <nlohmann/json.hpp>
#include <string>

#include "bench/options.hpp"
#include "rondo/group.hpp"

namespace rondo::tools {

/// The machine and the version.
nlohmann::ordered_json machine_facts();
/// "# name: value" lines; an object's members on one line.
std::string header_text(const nlohmann::ordered_json& header);
/// Names and values in order; "settings" is an object with what differs from the defaults.
nlohmann::ordered_json facts_of(const Group& group, const BenchOptions& options);

}  // namespace rondo::tools
