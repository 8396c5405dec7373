#include "bench/contenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rondo::tools::bench {

Group join_over(const Group& control, Config config) {
  config.rank = control.rank();
  config.size = control.size();
  config.launcher.clear();  // it watches the ranks of `control` already
  return init(config, [&](const std::string& mine) { return exchange_over(control, mine); });
}

namespace {

Group join_over(const Group& control, Backend backend) {
  Config config = Config::from_env();
  config.backend = backend;
  try {
    return bench::join_over(control, std::move(config));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_argument) throw;
    throw std::invalid_argument(fmt::format("--backends {}: {}", to_string(backend), error.what()));
  }
}

}  // namespace

std::vector<std::string> distinct_names(const std::vector<Backend>& backends) {
  std::vector<std::string> names;
  for (auto each = backends.begin(); each != backends.end(); ++each) {
    const auto before = std::count(backends.begin(), each, *each);
    names.push_back(before == 0 ? std::string(to_string(*each))
                                : fmt::format("{}#{}", to_string(*each), before + 1));
  }
  return names;
}

std::vector<std::string> exchange_over(const Group& control, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(control.size());
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(ranks);
  control.all_gather(std::span(&length, 1), lengths);
  const std::size_t most = std::max<std::size_t>(1, *std::ranges::max_element(lengths));
  std::vector<std::uint8_t> padded(mine.begin(), mine.end());
  padded.resize(most);
  std::vector<std::uint8_t> together(ranks * most);
  control.all_gather(padded, together);
  std::vector<std::string> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto from = together.begin() + static_cast<std::ptrdiff_t>(rank * most);
    all.emplace_back(from, from + static_cast<std::ptrdiff_t>(lengths[rank]));
  }
  return all;
}

Field make_field(const Group& control, const BenchOptions& options) {
  Field field{control, {}};
  if (options.backends.empty()) {
    field.contenders.push_back({std::string(to_string(control.backend())), control});
    return field;
  }
  const std::vector<std::string> names = distinct_names(options.backends);
  for (std::size_t i = 0; i < names.size(); ++i)
    field.contenders.push_back({names[i], join_over(control, options.backends[i])});
  return field;
}

}  // namespace rondo::tools::bench
