#pragma once
/// Data-parallel training: every rank learns from its part of each batch, and all take the same step.

#include <rondo/group.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "dataset.hpp"

namespace digits {

struct Settings {
  int epochs = 30;
  std::size_t batch = 32;  ///< images per step, over all ranks; a multiple of the number of ranks
  double rate = 0.05;
  double momentum = 0.9;
  std::uint64_t seed = 1;
};

/// How far a training is. Equal on all ranks: the numbers are averages over them.
struct Progress {
  int epoch = 0;  ///< from 1
  int epochs = 0;
  std::size_t step = 0;  ///< from 1, within the epoch
  std::size_t steps = 0;
  double loss = 0;                               ///< mean per image, over this epoch so far
  double accuracy = 0;                           ///< on the images learnt from, over this epoch so far
  std::optional<double> held_out_accuracy = {};  ///< set when the epoch is over
};

/// What a training left. Equal on all ranks, if all is well.
struct Outcome {
  std::vector<double> parameters;     ///< this rank's
  std::vector<std::uint64_t> hashes;  ///< of every rank's parameters, gathered
  std::vector<double> loss;           ///< mean per image, of each epoch
  std::vector<double> accuracy;       ///< on the held-out part, after each epoch
  std::size_t held_out_correct = 0;   ///< at the end
};

/// Trains on all ranks of `group`, whatever carries it; every rank calls it with the same data and settings.
/// `watch` is called after each step; ranks that have nothing to show pass an empty one.
/// Throws std::invalid_argument for settings that do not fit the group or the data, std::runtime_error when
/// the loss is no longer a number, rondo::Error when another rank fails.
Outcome train(const rondo::Group& group, const Split& data, const Settings& settings,
              const std::function<void(const Progress&)>& watch);

}  // namespace digits
