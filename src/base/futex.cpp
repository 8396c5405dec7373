#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

namespace rondo::base {

// The system takes the address of a plain 32-bit word.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds> until) noexcept {
  // The steady clock is CLOCK_MONOTONIC, which the form with a bit set takes an absolute time of.
  const auto left = std::max<std::int64_t>(until.time_since_epoch().count(), 0);
  const timespec limit{static_cast<std::time_t>(left / 1'000'000'000),
                       static_cast<long>(left % 1'000'000'000)};
  const bool forever = until == decltype(until)::max();
  const long result = syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_BITSET, expected,
                              forever ? nullptr : &limit, nullptr, FUTEX_BITSET_MATCH_ANY);
  return result == 0 || errno != ETIMEDOUT;
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace rondo::base
