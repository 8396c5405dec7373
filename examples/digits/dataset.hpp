#pragma once
/// Images of handwritten digits and what they show.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace digits {

inline constexpr std::size_t pixels_per_image = 64;  // 8 x 8
inline constexpr std::size_t classes = 10;

/// Images in a row, each with its digit.
struct Dataset {
  std::vector<double> pixels;        ///< pixels_per_image each, 0 (paper) to 1 (ink)
  std::vector<std::uint8_t> labels;  ///< 0 to 9

  std::size_t size() const { return labels.size(); }
  std::span<const double> image(std::size_t index) const {
    return std::span(pixels).subspan(index * pixels_per_image, pixels_per_image);
  }
};

/// What a model learns from, and what it is judged by.
struct Split {
  Dataset train;
  Dataset held_out;
};

/// Reads lines of 64 pixels (0 to 16) and a label (0 to 9), separated by commas.
/// Throws std::runtime_error that names the file, and for a malformed line its number and text.
Dataset read_digits(const std::filesystem::path& file);

/// Every fifth image, drawn by a fixed seed, is held out: the file is ordered by writer, and both parts
/// should know all of them. Throws std::runtime_error for fewer than five images.
Split split_digits(const Dataset& all);

}  // namespace digits
