#include "bench/floor_trips.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "base/futex.hpp"
#include "bench/cores.hpp"
#include "bench/lockstep.hpp"
#include "bench/measure.hpp"

namespace rondo::tools::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto never = std::chrono::time_point<Clock, std::chrono::nanoseconds>::max();

struct alignas(128) Line {
  std::atomic<std::uint32_t> value{0};
};

/// Two threads answer each other through two lines: `tell` changes one, `await` returns when it has changed.
template <class Tell, class Await>
double ping_pong(const std::vector<int>& cores, std::uint32_t batch, int samples, Tell tell, Await await) {
  std::array<Line, 2> lines;
  double least = std::numeric_limits<double>::max();
  on_cores(cores, [&](std::size_t i) {
    Line& mine = lines[i];
    Line& other = lines[1 - i];
    std::uint32_t turn = 0;
    for (int sample = 0; sample < samples; ++sample) {
      const Clock::time_point start = Clock::now();
      for (std::uint32_t left = batch; left > 0; --left) {
        ++turn;
        if (i == 0) tell(mine.value, turn);
        await(other.value, turn);
        if (i == 1) tell(mine.value, turn);
      }
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (i == 0) least = std::min(least, seconds / (2.0 * batch));
    }
  });
  return least;
}

double futex_trip(const std::vector<int>& cores, double seconds) {
  constexpr std::uint32_t batch = 8;
  const int samples = std::max(5, static_cast<int>(seconds / (batch * 2 * 30e-6)));
  return ping_pong(
      cores, batch, samples,
      [](std::atomic<std::uint32_t>& word, std::uint32_t turn) {
        word.store(turn);
        base::futex_wake(word);
      },
      [](std::atomic<std::uint32_t>& word, std::uint32_t turn) {
        while (word.load() != turn) (void)base::futex_wait(word, turn - 1, never);
      });
}

}  // namespace

std::optional<double> cross_core_trip() {
  const std::vector<int> cores = cores_to_use();
  if (cores.size() < 2) return std::nullopt;
  constexpr std::uint32_t batch = 200;
  constexpr int samples = 50;
  return ping_pong(
      {cores[0], cores[1]}, batch, samples,
      [](std::atomic<std::uint32_t>& line, std::uint32_t turn) {
        line.store(turn, std::memory_order_release);
      },
      [](const std::atomic<std::uint32_t>& line, std::uint32_t turn) {
        while (line.load(std::memory_order_acquire) != turn) {
        }
      });
}

std::string trip_text(const std::optional<double>& trip) {
  if (!trip) return "one core only, so no trip between cores";
  return fmt::format("{}: {:.0f} ns", *trip < near_trip ? "near" : "far", *trip * 1e9);
}

void measure_small_things(Floors& floors, const FloorPlan& plan, const std::function<bool()>& stop) {
  const std::vector<int> cores = cores_to_use();
  floors.trip = cross_core_trip();
  if (!plan.everything || stop()) return;
  floors.clock = clock_cost();
  Lockstep alone(1);
  floors.system_call = alone.least(0, plan.seconds, [] { (void)::syscall(SYS_getppid); });
  if (cores.size() < 2 || stop()) return;
  floors.futex = futex_trip({cores[0], cores[1]}, plan.seconds);
  floors.futex_one_core = futex_trip({cores[0], cores[0]}, plan.seconds);
}

}  // namespace rondo::tools::bench
