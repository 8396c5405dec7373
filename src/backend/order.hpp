#pragma once
/// Collectives of one group run one after the other, in the order in which this rank issued them.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include "base/deadline.hpp"
#include "base/scheduler.hpp"

namespace rondo::backend {

/// A queue of tickets. Uncontended, entering and leaving is two atomic operations and no lock.
class Order {
 public:
  explicit Order(base::Scheduler& scheduler) : turn_(scheduler) {}

  /// Holds the turn for its life.
  class Turn {
   public:
    /// Waits for the turn; valid() is false when the limit ran out first.
    Turn(Order& order, base::Deadline& deadline);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    bool valid() const noexcept { return valid_; }
    /// Of the collective in its group; the first is 1.
    std::uint64_t number() const noexcept { return ticket_ + 1; }

   private:
    Order& order_;
    std::uint64_t ticket_;
    bool valid_;
  };

 private:
  bool wait_for(std::uint64_t ticket, base::Deadline& deadline);
  void leave(std::uint64_t ticket) noexcept;
  void skip_abandoned();
  bool abandon(std::uint64_t ticket);

  base::Event turn_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> serving_{0};
  std::atomic<int> abandoned_count_{0};
  std::mutex mutex_;
  std::set<std::uint64_t> abandoned_;  // tickets whose holders gave up, and that are not reached yet
};

}  // namespace rondo::backend
