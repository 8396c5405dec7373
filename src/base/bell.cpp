#include "base/bell.hpp"

#include "base/futex.hpp"

namespace rondo::base {

void Bell::ring() noexcept {
  // Ordered with the increment of sleepers by who goes to sleep: either it sees the new epoch, or we see it.
  epoch.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) > 0) wake();
}

void Bell::wake() noexcept { futex_wake(epoch); }

}  // namespace rondo::base
