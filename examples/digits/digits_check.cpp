/// Checks of the parts of `digits` that need no group: the gradient, the reader, the order of the images.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "model.hpp"
#include "random.hpp"

namespace {

int failed = 0;

void expect(bool right, const std::string& what) {
  if (right) return;
  fmt::print("wrong: {}\n", what);
  ++failed;
}

/// The gradient against the slope of the loss between two points beside each parameter. Returns the largest.
double check_gradient(digits::Model& model, std::span<const double> image, std::size_t label) {
  std::vector<double> gradient(digits::Model::parameter_count);
  model.learn(image, label, gradient);
  constexpr double apart = 1e-6;
  double largest = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double& parameter = model.parameters()[i];
    const double kept = parameter;
    parameter = kept + apart;
    const double above = model.score(image, label).loss;
    parameter = kept - apart;
    const double below = model.score(image, label).loss;
    parameter = kept;
    const double slope = (above - below) / (2 * apart);
    largest = std::max(largest, std::abs(slope));
    if (std::abs(slope - gradient[i]) > 1e-7) expect(false, fmt::format("gradient of parameter {}", i));
  }
  return largest;
}

void check_gradients() {
  digits::Random random(7);
  digits::Model model(3);
  for (double& parameter : model.parameters()) parameter += random.symmetric(0.01);  // biases too
  for (std::size_t label = 0; label < digits::classes; ++label) {
    std::vector<double> image(digits::pixels_per_image);
    for (double& pixel : image) pixel = std::abs(random.symmetric(1.0));
    expect(check_gradient(model, image, label) > 0.1, "the loss depends on the parameters");
  }
}

std::string line_of(int first_pixel, int label) {
  std::string line = fmt::format("{}", first_pixel);
  for (std::size_t i = 1; i < digits::pixels_per_image; ++i) line += fmt::format(",{}", i % 17);
  return line + fmt::format(",{}\n", label);
}

/// What the reader says to this text; empty when it takes it.
std::string complaint(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
  try {
    (void)digits::read_digits(file);
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

void check_reader(const std::filesystem::path& file) {
  const auto refused = [&](const std::string& text, const std::string& words) {
    const std::string said = complaint(file, text);
    expect(said.find(words) != std::string::npos, fmt::format("\"{}\" should say \"{}\"", said, words));
  };
  const std::string right = line_of(16, 9);
  refused("", "no images");
  refused(right + "\n", ":2: field 1 is not a whole number from 0 to 16: \"\"");
  refused(right + "1,2,3\n", ":2: only 3 of 65 fields: \"1,2,3\"");
  refused(right + right + "0," + right, ":3: field 65 is not a whole number from 0 to 9");
  refused(line_of(1, 2).insert(line_of(1, 2).size() - 1, ",0"), ":1: more than 65 fields");
  refused(line_of(17, 9), ":1: field 1 is not");
  refused(line_of(-1, 9), ":1: field 1 is not");
  refused(line_of(1, 10), ":1: field 65 is not");
  refused("x" + right, ":1: field 1 is not");

  expect(complaint(file, right + line_of(8, 3)).empty(), "two right lines");
  const digits::Dataset two = digits::read_digits(file);
  expect(two.size() == 2 && two.labels[0] == 9 && two.labels[1] == 3, "labels");
  expect(two.image(0)[0] == 1.0 && two.image(1)[0] == 0.5 && two.image(1)[63] == 12.0 / 16.0, "pixels");
  std::filesystem::remove(file);
}

void check_order() {
  const std::vector<std::size_t> order = digits::shuffled_indices(1000, 5);
  std::vector<std::size_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) expect(sorted[i] == i, "every index once");
  expect(order == digits::shuffled_indices(1000, 5), "a seed is an order");
  expect(order != digits::shuffled_indices(1000, 6), "another seed, another order");
  // The first number that the generator's authors give for the seed 1234567.
  expect(digits::Random(1234567).next() == 6457827717110365317U, "SplitMix64");
}

}  // namespace

int main(int argc, char** argv) {
  check_gradients();
  check_reader(argc > 1 ? argv[1] : "digits_check.csv");
  check_order();
  fmt::print("{}\n", failed == 0 ? "all right" : "something is wrong");
  return failed == 0 ? 0 : 1;
}
