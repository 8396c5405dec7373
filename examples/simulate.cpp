/// sim_run finds bugs of timing without waiting: it draws the order of the ranks from a seed, and its clock
/// is its own, so that a deadlock ends at once and the same seed is the same run again.

#include <cstdint>
#include <cstdio>
#include <optional>
#include <rondo/rondo.hpp>
#include <stdexcept>
#include <string>

/// A deadlock: every rank waits for its left neighbour before it sends to its right one.
void receive_first(const rondo::Group& group) {
  const int left = (group.rank() + group.size() - 1) % group.size();
  const rondo::Tensor value = group.recv<float>({1}, left);
  group.send(value, (group.rank() + 1) % group.size());
}

/// A disagreement: rank 1 has a value more than the others.
void sum_unequal(const rondo::Group& group) {
  const rondo::Tensor mine(rondo::DType::float32, {group.rank() == 1 ? 3 : 2});
  [[maybe_unused]] const rondo::Tensor sum = group.all_sum(mine);
}

/// A race: rank 0 takes whatever comes first for rank 1's. With threads on a real clock it mostly is.
void trust_the_order(const rondo::Group& group) {
  if (group.rank() != 0) return group.send(rondo::Tensor::scalar(group.rank()), 0);
  for (int expected = 1; expected < group.size(); ++expected) {
    const rondo::Tensor value = group.recv<int>({}, rondo::any_source);
    const int got = value.span<int>()[0];
    if (got != expected)
      throw std::runtime_error("expected rank " + std::to_string(expected) + ", got rank " +
                               std::to_string(got));
  }
}

/// What the run with this seed ends with; nothing if all is well.
std::optional<std::string> error_of(void (*program)(const rondo::Group&), std::uint64_t seed) {
  try {
    rondo::sim_run(3, seed, program);
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  }
}

int main() {
  const auto deadlock = error_of(receive_first, 1);  // its limit of 60 s is virtual
  std::printf("deadlock: %s\n", deadlock.value().c_str());
  const auto mismatch = error_of(sum_unequal, 1);
  std::printf("mismatch: %s\n", mismatch.value().c_str());

  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto race = error_of(trust_the_order, seed);
    if (!race) continue;
    std::printf("race, seed %d: %s\n", static_cast<int>(seed), race->c_str());
    return error_of(trust_the_order, seed) == race ? 0 : 1;
  }
  return 1;
}
