#pragma once
/// What the program tells on the screen: how far it is, and the proof.

#include <cstddef>
#include <string>

#include "train.hpp"

namespace digits {

/// "1 rank", "4 ranks".
std::string ranks_text(int ranks);

/// Shows a training: one line that renews itself on a terminal, about ten plain lines otherwise.
class ProgressReport {
 public:
  explicit ProgressReport(int ranks);
  void operator()(const Progress& progress) const;

 private:
  std::string label_;
  bool terminal_;
};

/// One rank against several, on the same batches.
///
/// In exact arithmetic the two trainings are the same. Floating point adds up each batch in another order, so
/// that the last digits differ and every step adds a little. It is taken for rounding while the parameters
/// agree in half of a double's digits and the hits on the held-out part differ by one at most: an image may
/// lie right on the border between two digits. A wrong mean, a missed shard or a missed broadcast differs by
/// far more.
struct Proof {
  double parameter_difference = 0;  ///< |several - one| / |one|, Euclidean
  double parameter_limit = 0;       ///< the square root of the epsilon of double
  double largest_difference = 0;    ///< of any single parameter
  std::size_t correct_difference = 0;
  std::size_t correct_limit = 1;
  bool one_hash = false;  ///< every rank's parameters are the same in every bit

  bool holds() const {
    return parameter_difference <= parameter_limit && correct_difference <= correct_limit && one_hash;
  }
};

Proof prove(const Outcome& one, const Outcome& several);

/// Prints the proof in full.
void print_proof(const Proof& proof, const Outcome& one, const Outcome& several, std::size_t held_out);

}  // namespace digits
