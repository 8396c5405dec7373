#include "rendezvous/roll.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rondo::rendezvous {

std::vector<int> missing_in(const std::vector<bool>& present) {
  std::vector<int> missing;
  for (std::size_t i = 0; i < present.size(); ++i)
    if (!present[i]) missing.push_back(static_cast<int>(i));
  return missing;
}

std::string roll_text(const std::vector<bool>& present, std::string_view verb) {
  constexpr std::size_t named = 16;
  const std::vector<int> missing = missing_in(present);
  std::string text = fmt::format("{} of {} {}", present.size() - missing.size(), present.size(), verb);
  if (missing.empty()) return text;
  text += missing.size() == 1 ? ", missing rank " : ", missing ranks ";
  for (std::size_t i = 0; i < std::min(missing.size(), named); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", missing[i]);
  if (missing.size() > named) text += fmt::format(" and {} more", missing.size() - named);
  return text;
}

}  // namespace rondo::rendezvous
