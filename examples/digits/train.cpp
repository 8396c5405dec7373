#include "train.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <stdexcept>

#include "model.hpp"
#include "random.hpp"

namespace digits {
namespace {

using rondo::ReduceOp;

/// Size of the group as a count.
std::size_t ranks_of(const rondo::Group& group) { return static_cast<std::size_t>(group.size()); }
std::size_t rank_of(const rondo::Group& group) { return static_cast<std::size_t>(group.rank()); }

void check(const rondo::Group& group, const Split& data, const Settings& settings) {
  if (settings.batch == 0 || settings.batch % ranks_of(group) != 0) {
    throw std::invalid_argument(
        fmt::format("a batch of {} cannot be shared equally by {} ranks; take a multiple of {}",
                    settings.batch, group.size(), group.size()));
  }
  if (settings.batch > data.train.size()) {
    throw std::invalid_argument(fmt::format("a batch of {} is more than the {} images to train on",
                                            settings.batch, data.train.size()));
  }
}

/// FNV-1a, 64 bit, over the bits of the parameters in order.
std::uint64_t hash_of(std::span<const double> values) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xffU)) * 0x100000001b3U;
    }
  }
  return hash;
}

/// The nearest multiple of 2^-40. Sums of such numbers are exact in a double while they stay below 2^12, so
/// they are the same in whatever order a backend adds them up: over shared memory, TCP or anything else. (The
/// idea of pre-rounding: Demmel and Nguyen, Fast Reproducible Floating-Point Summation, ARITH 2013.)
double summable(double value) {
  constexpr double grain = 0x1p-40;
  return std::nearbyint(value / grain) * grain;
}

/// Rank r judges every n-th held-out image from the r-th on; the hits are summed.
std::size_t count_correct(const rondo::Group& group, const Model& model, const Dataset& held_out) {
  std::int64_t correct = 0;
  for (std::size_t i = rank_of(group); i < held_out.size(); i += ranks_of(group)) {
    correct += static_cast<std::int64_t>(model.score(held_out.image(i), held_out.labels[i]).correct);
  }
  group.all_sum(std::span(&correct, 1), {.name = "held-out hits"});
  return static_cast<std::size_t>(correct);
}

/// Stochastic gradient descent with momentum.
class Trainer {
 public:
  Trainer(const rondo::Group& group, const Dataset& data, const Settings& settings)
      : group_(group),
        data_(data),
        settings_(settings),
        // Every rank begins somewhere else; only the broadcast below makes them one.
        model_(settings.seed + rank_of(group)),
        gradient_(Model::parameter_count),
        velocity_(Model::parameter_count) {
    group_.broadcast(model_.parameters(), 0, {.name = "first parameters"});
  }

  const Model& model() const { return model_; }

  /// One step on `batch`, the same on every rank. Returns the mean loss and the share of hits over all of it.
  std::array<double, 2> step(std::span<const std::size_t> batch) {
    const std::size_t share = batch.size() / ranks_of(group_);
    const std::span<const std::size_t> shard = batch.subspan(rank_of(group_) * share, share);
    const auto images = static_cast<double>(share);

    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    Score total;
    for (const std::size_t index : shard) {
      const Score score = model_.learn(data_.image(index), data_.labels[index], gradient_);
      total.loss += score.loss;
      total.correct += score.correct;
    }
    for (double& slope : gradient_) slope = summable(slope / images);

    // Shards are of equal size, so the mean of their means is the mean of the batch.
    group_.all_reduce(gradient_, ReduceOp::mean, {.name = "gradients"});
    descend();

    std::array<double, 2> means{total.loss / static_cast<double>(share),
                                static_cast<double>(total.correct) / static_cast<double>(share)};
    group_.all_reduce(means, ReduceOp::mean, {.name = "loss and accuracy"});
    return means;
  }

 private:
  void descend() {
    const std::span<double> parameters = model_.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      velocity_[i] = settings_.momentum * velocity_[i] - settings_.rate * gradient_[i];
      parameters[i] += velocity_[i];
    }
  }

  const rondo::Group& group_;
  const Dataset& data_;
  const Settings& settings_;
  Model model_;
  std::vector<double> gradient_;
  std::vector<double> velocity_;
};

/// One pass over the images, in an order drawn from the seed and the epoch. What does not fill a batch waits
/// for another epoch.
Progress run_epoch(Trainer& trainer, const Dataset& data, const Settings& settings, int epoch,
                   const std::function<void(const Progress&)>& watch) {
  const std::vector<std::size_t> order =
      shuffled_indices(data.size(), settings.seed * 1000003U + static_cast<std::uint64_t>(epoch));
  Progress progress{.epoch = epoch, .epochs = settings.epochs, .steps = data.size() / settings.batch};
  double loss = 0;
  double accuracy = 0;
  for (progress.step = 1; progress.step <= progress.steps; ++progress.step) {
    const auto means =
        trainer.step(std::span(order).subspan((progress.step - 1) * settings.batch, settings.batch));
    if (!std::isfinite(means[0])) {
      throw std::runtime_error(fmt::format(
          "the loss is no longer a number in epoch {}, step {}; try a lower rate", epoch, progress.step));
    }
    loss += means[0];
    accuracy += means[1];
    progress.loss = loss / static_cast<double>(progress.step);
    progress.accuracy = accuracy / static_cast<double>(progress.step);
    if (watch) watch(progress);
  }
  progress.step = progress.steps;
  return progress;
}

}  // namespace

Outcome train(const rondo::Group& group, const Split& data, const Settings& settings,
              const std::function<void(const Progress&)>& watch) {
  check(group, data, settings);
  Trainer trainer(group, data.train, settings);
  Outcome outcome;
  for (int epoch = 1; epoch <= settings.epochs; ++epoch) {
    Progress progress = run_epoch(trainer, data.train, settings, epoch, watch);
    outcome.held_out_correct = count_correct(group, trainer.model(), data.held_out);
    progress.held_out_accuracy =
        static_cast<double>(outcome.held_out_correct) / static_cast<double>(data.held_out.size());
    outcome.loss.push_back(progress.loss);
    outcome.accuracy.push_back(*progress.held_out_accuracy);
    if (watch) watch(progress);
  }

  const std::span<const double> parameters = trainer.model().parameters();
  outcome.parameters.assign(parameters.begin(), parameters.end());
  const std::uint64_t hash = hash_of(parameters);
  outcome.hashes.resize(ranks_of(group));
  group.all_gather(std::span(&hash, 1), outcome.hashes, {.name = "parameter hashes"});
  return outcome;
}

}  // namespace digits
