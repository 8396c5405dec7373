/// Data parallel training in its smallest form: every rank holds the whole model and its own part of the
/// data; they average their gradients, and so take the same step. Here the model is y = 3a - 2b + 1, and has
/// to be found.

#include <array>
#include <cmath>
#include <cstdio>

#include "ranks.hpp"

using Parameters = std::array<double, 3>;  // of a, of b, and the constant
constexpr Parameters truth{3, -2, 1};
constexpr int samples_per_rank = 50;
constexpr int steps = 300;

/// The inputs of one sample. Every rank has others.
Parameters sample(int rank, int index) {
  const double number = rank * samples_per_rank + index;
  return {std::sin(number), std::cos(3 * number), 1};
}

double predict(const Parameters& model, const Parameters& inputs) {
  return model[0] * inputs[0] + model[1] * inputs[1] + model[2] * inputs[2];
}

/// Of the mean squared error over the data of this rank.
Parameters gradient_of(const Parameters& model, int rank) {
  Parameters gradient{};
  for (int i = 0; i < samples_per_rank; ++i) {
    const Parameters inputs = sample(rank, i);
    const double error = predict(model, inputs) - predict(truth, inputs);
    for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] += 2 * error * inputs[k] / samples_per_rank;
  }
  return gradient;
}

bool train(const rondo::Group& group) {
  Parameters model{0.1 * group.rank(), 0.2, 0.3};  // every rank begins somewhere else ...
  group.broadcast(model, 0);                       // ... and goes on from where rank 0 is
  for (int step = 0; step < steps; ++step) {
    Parameters gradient = gradient_of(model, group.rank());
    group.all_reduce(gradient, rondo::ReduceOp::mean);
    for (std::size_t k = 0; k < model.size(); ++k) model[k] -= 0.2 * gradient[k];
  }
  std::printf("rank %d of %d: y = %.3f a %+.3f b %+.3f\n", group.rank(), group.size(), model[0], model[1],
              model[2]);

  // All ranks hold the same bytes: then the smallest and the largest of each parameter are this rank's own.
  Parameters least = model;
  Parameters most = model;
  group.all_min(least);
  group.all_max(most);
  bool found = least == model && most == model;
  for (std::size_t k = 0; k < model.size(); ++k) found = found && std::abs(model[k] - truth[k]) < 1e-6;
  return found;
}

int main() { return run_ranks(4, train); }
