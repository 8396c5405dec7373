#pragma once
/// Settings from anywhere: what Config::from_env does, with the source of the values as an argument.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rondo/config.hpp"

namespace rondo::base {

/// Value of a variable, or nullptr when it is not set.
using Lookup = std::function<const char*(const char* name)>;

/// Throws Error(invalid_argument) like `RONDO_RANK="x7": expected a whole number from 0 to 2147483647`.
/// Values are looked at one by one; how they fit together is for validate and incomplete_reason.
Config parse_config(const Lookup& lookup);

/// For settings made by hand as well: throws Error(invalid_argument) for a value that no variable could have
/// given, and for a rank that is not below the size.
void validate(const Config& config);

/// Which of RONDO_RANK, RONDO_SIZE and RONDO_RENDEZVOUS is missing to describe a job, in words; empty when
/// none is.
std::string incomplete_reason(const Config& config);

/// What documentation says of a variable.
struct SettingInfo {
  std::string name;
  std::string field;  ///< of Config; two where one variable sets two
  std::string what;
  std::string expected;                      ///< which values it takes, in words
  std::optional<std::string> default_value;  ///< as the variable would give it; none: not set
};
/// All variables, in the order in which Config is printed.
std::vector<SettingInfo> describe_settings();

}  // namespace rondo::base
