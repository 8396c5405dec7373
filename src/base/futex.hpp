#pragma once
/// Sleeping on a word of memory, across processes where they share it.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rondo::base {

/// Sleeps while `word` is `expected`, until woken or `until` (never: time_point::max()). May return early for
/// no reason; false: `until` has come.
bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds> until) noexcept;
/// Wakes all who sleep on it.
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace rondo::base
