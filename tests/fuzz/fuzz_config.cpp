// Lines NAME=value read as settings. Whatever they are: either Error(invalid_argument), or settings whose
// text reads back as the same.

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "base/config_parse.hpp"

namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

void require(bool condition) {
  if (!condition) std::abort();
}

Variables variables_of(std::string_view text) {
  Variables variables;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      variables[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  return variables;
}

rondo::Config parse(const Variables& variables) {
  return rondo::base::parse_config([&](const char* name) -> const char* {
    const auto found = variables.find(std::string_view(name));
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  rondo::Config config;
  try {
    config = parse(variables_of(text));
  } catch (const rondo::Error& error) {
    require(error.kind() == rondo::ErrorKind::invalid_argument);
    require(std::string_view(error.what()).substr(0, 6) == "RONDO_");
    return 0;
  }
  require(config.timeout > rondo::Duration::zero() && config.init_timeout > rondo::Duration::zero());
  require(!config.rank || *config.rank >= 0);
  require(!config.size || *config.size >= 1);
  require(parse(variables_of(to_string(config))) == config);
  try {
    rondo::base::validate(config);
  } catch (const rondo::Error&) {
    require(config.rank && config.size && *config.rank >= *config.size);
  }
  return 0;
}
