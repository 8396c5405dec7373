#include "dataset.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "random.hpp"

namespace digits {
namespace {

constexpr int ink = 16;  // the darkest pixel in the file
constexpr std::uint64_t split_seed = 1998;

/// The fields of one line, or what is wrong with it.
struct Line {
  std::array<int, pixels_per_image + 1> values{};
  std::string problem;
};

Line parse_line(std::string_view text) {
  Line line;
  std::size_t field = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    if (field == line.values.size()) {
      line.problem = "more than 65 fields";
      return line;
    }
    const int limit = field < pixels_per_image ? ink : static_cast<int>(classes) - 1;
    const auto [rest, error] = std::from_chars(at, end, line.values[field]);
    const bool whole = error == std::errc() && (rest == end || *rest == ',');
    if (!whole || line.values[field] < 0 || line.values[field] > limit) {
      line.problem = fmt::format("field {} is not a whole number from 0 to {}", field + 1, limit);
      return line;
    }
    ++field;
    if (rest == end) break;
    at = rest + 1;
  }
  if (field < line.values.size()) line.problem = fmt::format("only {} of 65 fields", field);
  return line;
}

std::string shortened(std::string_view text) {
  constexpr std::size_t longest = 60;
  return text.size() <= longest ? std::string(text) : std::string(text.substr(0, longest)) + "...";
}

void append(Dataset& to, std::span<const double> image, std::uint8_t label) {
  to.pixels.insert(to.pixels.end(), image.begin(), image.end());
  to.labels.push_back(label);
}

}  // namespace

Dataset read_digits(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) {
    throw std::runtime_error(
        fmt::format("cannot read {}: {}", file.string(), std::generic_category().message(errno)));
  }
  Dataset all;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    const Line line = parse_line(text);
    if (!line.problem.empty()) {
      throw std::runtime_error(
          fmt::format("{}:{}: {}: \"{}\"", file.string(), number, line.problem, shortened(text)));
    }
    std::array<double, pixels_per_image> image{};
    for (std::size_t i = 0; i < pixels_per_image; ++i) {
      image[i] = static_cast<double>(line.values[i]) / static_cast<double>(ink);
    }
    append(all, image, static_cast<std::uint8_t>(line.values.back()));
  }
  if (in.bad()) throw std::runtime_error(fmt::format("{}: reading failed", file.string()));
  if (all.size() == 0) throw std::runtime_error(fmt::format("{}: no images", file.string()));
  return all;
}

Split split_digits(const Dataset& all) {
  Split split;
  const std::vector<std::size_t> order = shuffled_indices(all.size(), split_seed);
  const std::size_t held_out = all.size() / 5;
  if (held_out == 0) throw std::runtime_error("five images are the least: four to train on, one held out");
  for (std::size_t i = 0; i < order.size(); ++i) {
    Dataset& part = i < held_out ? split.held_out : split.train;
    append(part, all.image(order[i]), all.labels[order[i]]);
  }
  return split;
}

}  // namespace digits
