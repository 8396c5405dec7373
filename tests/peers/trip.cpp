// What one trip of a cache line between two cores takes now, in nanoseconds: half of a round trip, median of
// many batches. A virtual machine's cores may be near to each other at one time and far at another, and
// everything in shared memory follows.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int batches = 500;
constexpr int trips_per_batch = 400;  // half of them there, half back

struct alignas(128) Line {
  std::atomic<int> turn{0};
};

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/// Waits for every turn that has the parity of `side`, and hands on.
void play(Line& line, int side, int first, int last) {
  for (int turn = first + side; turn < last; turn += 2) {
    while (line.turn.load(std::memory_order_acquire) != turn) {
    }
    line.turn.store(turn + 1, std::memory_order_release);
  }
}

}  // namespace

int main() {
  const std::vector<int> cores = usable_cores();
  if (cores.size() < 2) {
    std::fprintf(stderr, "trip: one core only\n");
    return 1;
  }
  Line line;
  constexpr int turns = batches * trips_per_batch;
  std::thread other([&] {
    stay_on(cores[1]);
    play(line, 1, 0, turns);
  });
  stay_on(cores[0]);
  std::vector<double> trips;
  for (int batch = 0; batch < batches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    play(line, 0, batch * trips_per_batch, (batch + 1) * trips_per_batch);
    trips.push_back(
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
        trips_per_batch);
  }
  other.join();
  std::nth_element(trips.begin(), trips.begin() + batches / 2, trips.end());
  std::printf("%.1f\n", trips[batches / 2]);
  return 0;
}
