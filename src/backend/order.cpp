#include "backend/order.hpp"

namespace rondo::backend {

Order::Turn::Turn(Order& order, base::Deadline& deadline)
    : order_(order), ticket_(order.next_.fetch_add(1, std::memory_order_relaxed)), valid_(true) {
  while (order_.serving_.load(std::memory_order_acquire) != ticket_) {
    const std::uint32_t seen = order_.turn_.ticket();
    if (order_.serving_.load(std::memory_order_acquire) == ticket_) return;
    if (!order_.turn_.wait(seen, deadline.end()) && deadline.expired() && order_.abandon(ticket_)) {
      valid_ = false;
      return;
    }
  }
}

Order::Turn::~Turn() {
  if (valid_) order_.leave(ticket_);
}

void Order::leave(std::uint64_t ticket) {
  std::uint64_t next = ticket + 1;
  {
    std::lock_guard lock(mutex_);
    while (abandoned_.erase(next) > 0) ++next;
    serving_.store(next, std::memory_order_release);
  }
  turn_.ring();
}

// False when the turn came meanwhile.
bool Order::abandon(std::uint64_t ticket) {
  std::lock_guard lock(mutex_);
  if (serving_.load(std::memory_order_relaxed) == ticket) return false;
  abandoned_.insert(ticket);
  return true;
}

}  // namespace rondo::backend
