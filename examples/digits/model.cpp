#include "model.hpp"

#include <algorithm>
#include <cmath>

#include "random.hpp"

namespace digits {
namespace {

/// The four parts of the parameters, or of a gradient.
template <class T>
struct Layers {
  std::span<T> hidden_weights;
  std::span<T> hidden_biases;
  std::span<T> class_weights;
  std::span<T> class_biases;

  explicit Layers(std::span<T> all) {
    const auto take = [&all](std::size_t count) {
      const std::span<T> part = all.first(count);
      all = all.subspan(count);
      return part;
    };
    hidden_weights = take(hidden_units * pixels_per_image);
    hidden_biases = take(hidden_units);
    class_weights = take(classes * hidden_units);
    class_biases = take(classes);
  }
};

Score judge(std::span<const double, classes> probability, std::size_t label) {
  const auto best = std::max_element(probability.begin(), probability.end()) - probability.begin();
  const double least = 1e-300;  // keeps the logarithm finite
  return {-std::log(std::max(probability[label], least)), static_cast<std::size_t>(best) == label ? 1U : 0U};
}

}  // namespace

Model::Model(std::uint64_t seed) : parameters_(parameter_count) {
  Random random(seed);
  const Layers<double> layer(parameters_);
  for (double& weight : layer.hidden_weights) weight = random.symmetric(std::sqrt(6.0 / pixels_per_image));
  for (double& weight : layer.class_weights) weight = random.symmetric(std::sqrt(6.0 / hidden_units));
}

Model::Activity Model::look(std::span<const double> image) const {
  const Layers<const double> layer(parameters_);
  Activity activity;
  for (std::size_t unit = 0; unit < hidden_units; ++unit) {
    double sum = layer.hidden_biases[unit];
    for (std::size_t pixel = 0; pixel < pixels_per_image; ++pixel) {
      sum += layer.hidden_weights[unit * pixels_per_image + pixel] * image[pixel];
    }
    activity.hidden[unit] = std::max(sum, 0.0);
  }

  std::array<double, classes> score{};
  for (std::size_t digit = 0; digit < classes; ++digit) {
    score[digit] = layer.class_biases[digit];
    for (std::size_t unit = 0; unit < hidden_units; ++unit) {
      score[digit] += layer.class_weights[digit * hidden_units + unit] * activity.hidden[unit];
    }
  }

  const double highest = *std::max_element(score.begin(), score.end());  // so that exp cannot overflow
  double total = 0;
  for (std::size_t digit = 0; digit < classes; ++digit) {
    activity.probability[digit] = std::exp(score[digit] - highest);
    total += activity.probability[digit];
  }
  for (double& probability : activity.probability) probability /= total;
  return activity;
}

Score Model::score(std::span<const double> image, std::size_t label) const {
  return judge(look(image).probability, label);
}

Score Model::learn(std::span<const double> image, std::size_t label, std::span<double> gradient) const {
  const Layers<const double> layer(parameters_);
  const Layers<double> slope(gradient);
  const Activity activity = look(image);

  std::array<double, hidden_units> blame{};  // d loss / d hidden
  for (std::size_t digit = 0; digit < classes; ++digit) {
    const double wrong = activity.probability[digit] - (digit == label ? 1.0 : 0.0);  // d loss / d score
    slope.class_biases[digit] += wrong;
    for (std::size_t unit = 0; unit < hidden_units; ++unit) {
      const std::size_t weight = digit * hidden_units + unit;
      slope.class_weights[weight] += wrong * activity.hidden[unit];
      blame[unit] += wrong * layer.class_weights[weight];
    }
  }

  for (std::size_t unit = 0; unit < hidden_units; ++unit) {
    if (activity.hidden[unit] <= 0.0) continue;  // ReLU was shut: nothing passes back
    slope.hidden_biases[unit] += blame[unit];
    for (std::size_t pixel = 0; pixel < pixels_per_image; ++pixel) {
      slope.hidden_weights[unit * pixels_per_image + pixel] += blame[unit] * image[pixel];
    }
  }
  return judge(activity.probability, label);
}

}  // namespace digits
