#pragma once
/// Where and how a bench ran: what its figures are worth nothing without.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/contenders.hpp"
#include "bench/options.hpp"

namespace rondo::tools::bench {

/// The machine and the version.
nlohmann::ordered_json machine_facts();
/// "# name: value" lines; an object's members on one line.
std::string header_text(const nlohmann::ordered_json& header);
/// Names and values in order; "settings" is an object with what differs from the defaults.
/// `trip`: between two cores, before the first row.
nlohmann::ordered_json facts_of(const Field& field, const BenchOptions& options, std::optional<double> trip);

}  // namespace rondo::tools::bench
