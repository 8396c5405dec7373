#pragma once
/// Threads that time the same thing at the same moment, each on its own core.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

namespace rondo::tools::bench {

class Lockstep {
 public:
  explicit Lockstep(std::size_t threads) : values_(threads) {}

  /// Seconds of one call on the slowest thread, the same on all: the least of samples that together take
  /// about `seconds`. Every thread calls it with its number.
  template <class Call>
  double least(std::size_t thread, double seconds, const Call& call) {
    constexpr double enough = 20e-6;  // so that the two looks at the clock do not count
    constexpr std::size_t most_calls = 65536;
    constexpr int least_samples = 3;
    std::size_t calls = 1;
    double took = agreed(thread, time(call, calls));
    while (took < enough && calls < most_calls) {
      calls *= 2;
      took = agreed(thread, time(call, calls));
    }
    double best = took;
    double all = took;
    for (int samples = 1; samples < least_samples || all < seconds; ++samples) {
      took = agreed(thread, time(call, calls));
      best = std::min(best, took);
      all += took;
    }
    return best / static_cast<double>(calls);
  }

  /// The largest of all threads' values.
  double agreed(std::size_t thread, double value) {
    values_[thread] = value;
    meet();
    const double most = *std::ranges::max_element(values_);
    meet();  // before somebody writes its next
    return most;
  }

 private:
  template <class Call>
  double time(const Call& call, std::size_t calls) {
    meet();
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  // Spins: a sleeper would be late for what follows.
  void meet() noexcept {
    const std::size_t round = round_.load();
    if (here_.fetch_add(1) + 1 == values_.size()) {
      here_.store(0);
      round_.store(round + 1);
    } else {
      while (round_.load() == round) {
      }
    }
  }

  std::vector<double> values_;
  std::atomic<std::size_t> here_{0};
  std::atomic<std::size_t> round_{0};
};

}  // namespace rondo::tools::bench
