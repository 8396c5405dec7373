/// Trains a small classifier of handwritten digits twice, on one rank and on several, and proves that
/// both are the same training. The several are threads of this process, or the processes of a job
/// (`rondo run -n 4 -- digits`).

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <rondo/rondo.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "dataset.hpp"
#include "model.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "train.hpp"

namespace {

struct Options {
  int ranks = 4;
  digits::Settings settings;
  std::filesystem::path data;
  std::filesystem::path out = "build/digits/loss";
};

/// The data beside the current folder, else where this program was built from.
std::filesystem::path default_data() {
  const std::filesystem::path here = "examples/data/digits.csv";
  return std::filesystem::exists(here) ? here : std::filesystem::path(DIGITS_DATA);
}

void describe(CLI::App& app, Options& options) {
  constexpr int most_ranks = 64;
  app.add_option("--ranks", options.ranks,
                 "Ranks to train with; each is a thread of this process. In a job: its processes")
      ->check(CLI::Range(1, most_ranks))
      ->capture_default_str();
  app.add_option("--epochs", options.settings.epochs, "Passes over the images")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--batch", options.settings.batch, "Images per step over all ranks; a multiple of --ranks")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--rate", options.settings.rate, "Learning rate")
      ->check(CLI::Range(0.0001, 1.0))
      ->capture_default_str();
  app.add_option("--seed", options.settings.seed,
                 "Seed of the first parameters and of the order of the images")
      ->capture_default_str();
  app.add_option("--data", options.data, "Images: lines of 64 pixels (0 to 16) and a label")
      ->capture_default_str();
  app.add_option("--out", options.out, "Where the curves go: PREFIX.svg; missing folders are made")
      ->type_name("PREFIX")
      ->capture_default_str();
}

/// Trains with `ranks` threads of this process. Only here is it known what the ranks are.
digits::Outcome train_on_threads(int ranks, const digits::Split& data, const digits::Settings& settings) {
  std::vector<rondo::Group> groups = rondo::sim_group(ranks);
  std::vector<digits::Outcome> outcomes(groups.size());
  std::vector<std::exception_ptr> errors(groups.size());
  std::function<void(const digits::Progress&)> watch = digits::ProgressReport(ranks);
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < groups.size(); ++r) {
      threads.emplace_back([&, r] {
        try {
          outcomes[r] = digits::train(groups[r], data, settings, r == 0 ? watch : nullptr);
        } catch (const std::exception& error) {
          errors[r] = std::current_exception();
          groups[r].abort(error.what());  // so that the others do not wait for this rank
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    fmt::print("\n");  // leaves the progress line
    std::rethrow_exception(error);
  }
  return outcomes[0];
}

/// PREFIX.svg; its folder is made now, so that a wrong name is told before the training.
std::filesystem::path prepare_picture(std::filesystem::path picture) {
  if (picture.extension() != ".svg") picture += ".svg";
  std::error_code error;
  if (picture.has_parent_path()) std::filesystem::create_directories(picture.parent_path(), error);
  if (error) {
    throw std::runtime_error(
        fmt::format("cannot make the folder {}: {}", picture.parent_path().string(), error.message()));
  }
  return picture;
}

void print_task(const Options& options, const digits::Dataset& images, const digits::Split& data) {
  const digits::Settings& settings = options.settings;
  fmt::print("{}: {} images of 8 x 8, {} to train on and {} held out\n", options.data.string(), images.size(),
             data.train.size(), data.held_out.size());
  fmt::print(
      "{}-{}-{} with ReLU and softmax, {} parameters; {} epochs, batches of {}, rate {:.4g}, seed {}\n\n",
      digits::pixels_per_image, digits::hidden_units, digits::classes, digits::Model::parameter_count,
      settings.epochs, settings.batch, settings.rate, settings.seed);
}

/// As rank 0 or alone: trains on one rank too, and compares.
int prove(const Options& options, const digits::Split& data, const digits::Outcome& several) {
  const digits::Outcome one = train_on_threads(1, data, options.settings);
  const std::filesystem::path picture = prepare_picture(options.out);
  digits::write_picture(picture, one, several);
  const digits::Proof proof = digits::prove(one, several);
  digits::print_proof(proof, one, several, data.held_out.size());
  fmt::print("\nloss curves: {}\n", picture.string());
  return proof.holds() ? 0 : 1;
}

int run(const Options& options, const rondo::Group& job) {
  const bool threads = job.size() == 1;
  const int ranks = threads ? options.ranks : job.size();
  if (options.settings.batch % static_cast<std::size_t>(ranks) != 0) {
    throw std::invalid_argument(
        fmt::format("--batch {} is not a multiple of {}", options.settings.batch, digits::ranks_text(ranks)));
  }
  const bool speaks = job.rank() == 0;
  if (speaks) (void)prepare_picture(options.out);
  const digits::Dataset images = digits::read_digits(options.data);
  const digits::Split data = digits::split_digits(images);
  if (speaks) print_task(options, images, data);
  if (threads) return prove(options, data, train_on_threads(ranks, data, options.settings));

  if (speaks) fmt::print("{} processes over {}\n", ranks, rondo::to_string(job.backend()));
  std::function<void(const digits::Progress&)> watch;
  if (speaks) watch = digits::ProgressReport(ranks);
  const digits::Outcome several = digits::train(job, data, options.settings, watch);
  // The others need not wait for what rank 0 does alone.
  return speaks ? prove(options, data, several) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.data = default_data();
  CLI::App app(
      "Trains a small classifier of handwritten digits, on one rank and then on several, each with its\n"
      "part of every batch, and proves that both are the same training.\n");
  describe(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options, rondo::init());
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "digits: {}\n", error.what());
    return 2;
  }
}
