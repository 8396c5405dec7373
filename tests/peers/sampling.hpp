#pragma once
/// What the peer programs share: the options, the method of `rondo bench` (batches of at least 20 us,
/// warm-up, every sample as long as on the slowest rank), values that make results exact, and rows as lines
/// of JSON.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace peers {

struct Options {
  std::vector<std::string> tests;
  std::vector<std::size_t> sizes;  ///< bytes, by the conventions of `rondo bench`
  double seconds = 0.1;            ///< how long to measure for a row
  std::size_t samples = 0;         ///< per row; 0: as many as fit into `seconds`
  int rank = 0;                    ///< for programs that no launcher tells
  int ranks = 1;
  std::string store;  ///< a folder where the ranks meet
};

struct Timing {  ///< Seconds.
  double min = 0;
  double median = 0;
  double p99 = 0;
  std::size_t samples = 0;
  std::size_t batch = 1;
};

using Call = std::function<void()>;
/// Puts the largest value of all ranks in place of each.
using Slowest = std::function<void(std::vector<double>&)>;

inline std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// `--tests A,B --sizes 4,16 --seconds 0.1 --samples 0 --rank 0 --ranks 2 --store DIR`.
inline Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(std::string(name) + ": a value is missing");
    const std::string value = argv[i + 1];
    if (name == "--tests") {
      options.tests = words_of(value);
    } else if (name == "--sizes") {
      for (const std::string& size : words_of(value)) options.sizes.push_back(std::stoull(size));
    } else if (name == "--seconds") {
      options.seconds = std::stod(value);
    } else if (name == "--samples") {
      options.samples = std::stoull(value);
    } else if (name == "--rank") {
      options.rank = std::stoi(value);
    } else if (name == "--ranks") {
      options.ranks = std::stoi(value);
    } else if (name == "--store") {
      options.store = value;
    } else {
      throw std::invalid_argument("unknown option " + std::string(name));
    }
  }
  return options;
}

inline double seconds_of(const Call& call, std::size_t calls) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline std::size_t whole(double value, std::size_t least, std::size_t most) {
  if (!(value > static_cast<double>(least))) return least;
  return value < static_cast<double>(most) ? static_cast<std::size_t>(value) : most;
}

inline double estimate(const Call& call, const Slowest& slowest, double seconds) {
  constexpr std::size_t most_batch = 4096;
  for (std::size_t calls = 1;; calls *= 2) {
    std::vector<double> took{seconds_of(call, calls)};
    slowest(took);
    if (took[0] >= seconds / 10 || calls >= most_batch)
      return std::max(took[0] / static_cast<double>(calls), 1e-9);
  }
}

inline Timing summary(std::vector<double> samples, std::size_t batch) {
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  Timing timing;
  timing.min = samples.front();
  timing.median = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
  timing.p99 = samples[(99 * n + 99) / 100 - 1];
  timing.samples = n;
  timing.batch = batch;
  return timing;
}

/// Times `call` as `rondo bench` does. All ranks call it together.
inline Timing measure(const Call& call, const Slowest& slowest, const Options& options) {
  constexpr double least_sample = 20e-6;
  constexpr double round_seconds = 0.1;  // so often the ranks tell each other their times
  for (int i = 0; i < 3; ++i) call();
  const double guess = estimate(call, slowest, options.seconds);
  const std::size_t batch = whole(std::ceil(least_sample / guess), 1, 4096);
  const double sample = guess * static_cast<double>(batch);
  const std::size_t wanted =
      options.samples > 0 ? options.samples : whole(options.seconds / sample, 10, 5000);
  const std::size_t per_round = whole(round_seconds / sample, 1, wanted);
  std::vector<double> samples;
  samples.reserve(wanted);
  while (samples.size() < wanted) {
    std::vector<double> round;
    for (std::size_t left = std::min(per_round, wanted - samples.size()); left > 0; --left)
      round.push_back(seconds_of(call, batch) / static_cast<double>(batch));
    slowest(round);
    samples.insert(samples.end(), round.begin(), round.end());
  }
  return summary(std::move(samples), batch);
}

/// Elements of one rank's part for a size: of the vector, or of the parts of all ranks together.
inline std::size_t count_of(std::size_t size, int parts) {
  return std::max<std::size_t>(1, size / sizeof(float) / static_cast<std::size_t>(parts));
}

/// What `rank` puts in at a position: whole numbers, so that every order of additions gives the same.
inline float value_at(int rank, std::size_t position) {
  return static_cast<float>(static_cast<std::size_t>(rank) * 4096 + position % 4093);
}

inline float sum_at(int ranks, std::size_t position) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value_at(rank, position);
  return sum;
}

inline void fill(std::vector<float>& values, int rank) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_at(rank, i);
}

/// How many elements from `first` on differ from `expected(position)`.
template <class Expected>
double wrong_in(const std::vector<float>& got, std::size_t first, std::size_t count,
                const Expected& expected) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += got[first + i] != expected(i) ? 1 : 0;
  return static_cast<double>(wrong);
}

/// A row as a line of JSON, in the names of `rondo bench --json`.
inline void print_row(const std::string& test, std::size_t size, const Timing& timing, double wrong,
                      const std::string& note = "") {
  std::printf(
      "{\"test\": \"%s\", \"size\": %zu, \"min_us\": %.6f, \"median_us\": %.6f, \"p99_us\": %.6f, "
      "\"samples\": %zu, \"batch\": %zu, \"wrong\": %.0f, \"note\": \"%s\"}\n",
      test.c_str(), size, timing.min * 1e6, timing.median * 1e6, timing.p99 * 1e6, timing.samples,
      timing.batch, wrong, note.c_str());
  std::fflush(stdout);
}

}  // namespace peers
