#pragma once
/// What wakes a sleeper, in whatever process it sleeps.

#include <atomic>
#include <cstdint>

namespace rondo::base {

/// The shared part of an Event. It may lie in memory that processes share; all zero is a new one. Everything
/// here is safe for any number of threads and processes, and never waits.
struct alignas(64) Bell {
  std::atomic<std::uint32_t> epoch{0};
  std::atomic<std::uint32_t> sleepers{0};

  /// Who sleeps on it wakes, and who took a ticket before will not sleep.
  void ring() noexcept;
  /// The same for those who have announced themselves (Event::announce) and looked again since; costs one
  /// load when nobody has. What was changed before must have been changed with a sequentially consistent
  /// store, and the sleeper must look with sequentially consistent loads.
  void nudge() noexcept {
    if (sleepers.load(std::memory_order_seq_cst) > 0) ring();
  }
  /// Wakes without a change of epoch.
  void wake() noexcept;
};

}  // namespace rondo::base
