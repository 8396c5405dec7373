#pragma once
/// A small classifier: 64 pixels, 32 hidden units with ReLU, 10 scores with softmax and cross-entropy.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataset.hpp"

namespace digits {

inline constexpr std::size_t hidden_units = 32;

/// How well a model did on some images.
struct Score {
  double loss = 0;  ///< sum of the cross-entropies, in nats
  std::size_t correct = 0;
};

/// The classifier. All parameters lie in one vector, so that one collective moves them all:
/// weights [32, 64], biases [32], weights [10, 32], biases [10].
///
/// Float32 learns as well. Float64 keeps rounding so small that no unit at the kink of its ReLU falls to the
/// other side when a batch is added up in another order, so that two trainings can be compared closely.
class Model {
 public:
  static constexpr std::size_t parameter_count =
      hidden_units * pixels_per_image + hidden_units + classes * hidden_units + classes;

  /// Random parameters, spread as He et al. (2015) found right for ReLU: sqrt(6 / inputs) either way.
  explicit Model(std::uint64_t seed);

  std::span<double> parameters() { return parameters_; }
  std::span<const double> parameters() const { return parameters_; }

  /// The loss and the hit or miss of one image.
  Score score(std::span<const double> image, std::size_t label) const;
  /// The same, and the gradient of the loss is added to `gradient` (parameter_count elements, laid out as
  /// the parameters are).
  Score learn(std::span<const double> image, std::size_t label, std::span<double> gradient) const;

 private:
  /// What the units say to one image.
  struct Activity {
    std::array<double, hidden_units> hidden{};
    std::array<double, classes> probability{};
  };
  Activity look(std::span<const double> image) const;

  std::vector<double> parameters_;
};

}  // namespace digits
