#include "report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace digits {
namespace {

double percent(double share) { return 100.0 * share; }

const char* verdict(bool holds) { return holds ? "yes" : "NO"; }

void print_accuracy(int ranks, std::size_t correct, std::size_t images) {
  fmt::print("  held-out accuracy, {:<9} {:6.2f} %  ({} of {} images)\n", ranks_text(ranks) + ":",
             percent(static_cast<double>(correct) / static_cast<double>(images)), correct, images);
}

}  // namespace

std::string ranks_text(int ranks) { return fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"); }

ProgressReport::ProgressReport(int ranks)
    : label_(ranks_text(ranks)), terminal_(isatty(fileno(stdout)) == 1) {}

void ProgressReport::operator()(const Progress& progress) const {
  constexpr int plain_lines = 10;
  const bool epoch_over = progress.held_out_accuracy.has_value();
  const bool last = epoch_over && progress.epoch == progress.epochs;
  if (terminal_) {
    if (!epoch_over && progress.step % 4 != 0) return;  // enough for the eye
  } else {
    const int every = std::max(1, progress.epochs / plain_lines);
    const bool wanted = progress.epoch == 1 || progress.epoch % every == 0 || last;
    if (!epoch_over || !wanted) return;
  }

  std::string line = fmt::format("{:<8}  epoch {:3} of {}  step {:3} of {}  loss {:.4f}  accuracy {:6.2f} %",
                                 label_, progress.epoch, progress.epochs, progress.step, progress.steps,
                                 progress.loss, percent(progress.accuracy));
  if (epoch_over) line += fmt::format("  held-out {:6.2f} %", percent(*progress.held_out_accuracy));
  if (terminal_) {
    fmt::print("\r{:<98}{}", line, last ? "\n" : "");
  } else {
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

Proof prove(const Outcome& one, const Outcome& several) {
  Proof proof;
  double difference = 0;
  double length = 0;
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    const double here = one.parameters[i];
    const double apart = static_cast<double>(several.parameters.at(i)) - here;
    difference += apart * apart;
    length += here * here;
    proof.largest_difference = std::max(proof.largest_difference, std::abs(apart));
  }
  proof.parameter_difference = std::sqrt(difference / length);
  proof.parameter_limit = std::sqrt(static_cast<double>(std::numeric_limits<double>::epsilon()));
  proof.correct_difference = std::max(one.held_out_correct, several.held_out_correct) -
                             std::min(one.held_out_correct, several.held_out_correct);
  proof.one_hash = std::all_of(several.hashes.begin(), several.hashes.end(),
                               [&](std::uint64_t hash) { return hash == several.hashes.front(); });
  return proof;
}

void print_proof(const Proof& proof, const Outcome& one, const Outcome& several, std::size_t held_out) {
  const auto ranks = static_cast<int>(several.hashes.size());
  fmt::print("\nthe proof\n");
  print_accuracy(1, one.held_out_correct, held_out);
  print_accuracy(ranks, several.held_out_correct, held_out);
  fmt::print("  images right differ by {}; at most {}: {}\n", proof.correct_difference, proof.correct_limit,
             verdict(proof.correct_difference <= proof.correct_limit));
  fmt::print(
      "  parameters apart by {:.1e} of their length (largest difference {:.1e});\n"
      "    rounding in another order explains up to {:.1e}, half of a double's digits: {}\n",
      proof.parameter_difference, proof.largest_difference, proof.parameter_limit,
      verdict(proof.parameter_difference <= proof.parameter_limit));
  if (proof.one_hash && proof.parameter_difference > proof.parameter_limit) {
    fmt::print(
        "    a high rate makes training chaotic, and rounding then grows to any size: try a lower one\n");
  }
  if (ranks == 1) {
    fmt::print("  the one rank holds these parameters: 0x{:016x}\n", several.hashes.front());
  } else if (proof.one_hash) {
    fmt::print("  all {} hold the same parameters: 0x{:016x}\n", ranks_text(ranks), several.hashes.front());
  } else {
    fmt::print("  ranks hold DIFFERENT parameters:\n");
    for (std::size_t rank = 0; rank < several.hashes.size(); ++rank) {
      fmt::print("    rank {}: 0x{:016x}\n", rank, several.hashes[rank]);
    }
  }
  fmt::print("{}\n", proof.holds() ? "the proof holds" : "the proof FAILED");
}

}  // namespace digits
