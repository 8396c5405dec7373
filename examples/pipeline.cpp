/// Pipeline: every rank is a stage of the model, and hands what it has computed on to the next. The batch
/// goes through in small parts, so that all stages have work at the same time:
///
///     stage 0    0 1 2 3 4 5
///     stage 1      0 1 2 3 4 5
///     stage 2        0 1 2 3 4 5

#include <array>
#include <cstdio>
#include <optional>

#include "ranks.hpp"

constexpr int micro_batches = 6;
constexpr std::size_t width = 10'000;

/// Numbers that fit no other micro-batch.
std::vector<double> input(int micro_batch) {
  std::vector<double> numbers(width);
  for (std::size_t i = 0; i < width; ++i) numbers[i] = static_cast<double>(i) + 0.5 * micro_batch;
  return numbers;
}

void work(int stage, std::vector<double>& numbers) {
  for (double& number : numbers) number = 2 * number + stage;
}

bool run_stage(const rondo::Group& group) {
  const int stage = group.rank();
  const int last = group.size() - 1;
  bool right = true;

  // Two buffers: while one is on its way to the next stage, the next micro-batch is worked on in the other.
  std::array<std::vector<double>, 2> buffers{std::vector<double>(width), std::vector<double>(width)};
  std::array<std::optional<rondo::Request>, 2> sending;
  for (int m = 0; m < micro_batches; ++m) {
    const auto slot = static_cast<std::size_t>(m % 2);
    std::vector<double>& numbers = buffers[slot];
    if (sending[slot]) sending[slot]->wait();  // of two micro-batches ago: now the buffer is free again
    if (stage == 0) {
      numbers = input(m);
    } else {
      group.recv_into(numbers, stage - 1, {.tag = m});
    }
    work(stage, numbers);
    if (stage < last) {
      sending[slot] = group.isend(numbers, stage + 1, {.tag = m});
    } else {
      std::vector<double> expected = input(m);
      for (int each = 0; each <= last; ++each) work(each, expected);
      right = right && numbers == expected;
      std::printf("micro-batch %d of %d left the last stage: %s\n", m, micro_batches,
                  right ? "right" : "wrong");
    }
  }
  for (auto& each : sending) {
    if (each) each->wait();
  }
  return right;
}

int main() { return run_ranks(3, run_stage); }
