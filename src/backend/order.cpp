#include "backend/order.hpp"

namespace rondo::backend {

Order::Turn::Turn(Order& order, base::Deadline& deadline)
    : order_(order), ticket_(order.next_.fetch_add(1, std::memory_order_relaxed)), valid_(true) {
  if (order_.serving_.load(std::memory_order_acquire) != ticket_) valid_ = order_.wait_for(ticket_, deadline);
}

Order::Turn::~Turn() {
  if (valid_) order_.leave(ticket_);
}

// False when the limit ran out before the turn came.
bool Order::wait_for(std::uint64_t ticket, base::Deadline& deadline) {
  bool waits = true;
  bool valid = true;
  turn_.announce();
  while (waits) {
    const std::uint32_t seen = turn_.ticket();
    if (serving_.load(std::memory_order_seq_cst) == ticket) {
      waits = false;
    } else if (!turn_.wait(seen, deadline.end()) && deadline.expired() && abandon(ticket)) {
      waits = valid = false;
    }
  }
  turn_.renounce();
  return valid;
}

// Who waits has announced itself and then looked at serving_; who gives up has counted itself and then
// looked. So after this store either they see it or they are seen here.
void Order::leave(std::uint64_t ticket) noexcept {
  serving_.store(ticket + 1, std::memory_order_seq_cst);
  if (abandoned_count_.load(std::memory_order_seq_cst) > 0) skip_abandoned();
  turn_.nudge();
}

void Order::skip_abandoned() {
  std::lock_guard lock(mutex_);
  std::uint64_t next = serving_.load(std::memory_order_relaxed);
  while (abandoned_.erase(next) > 0) {
    abandoned_count_.fetch_sub(1, std::memory_order_relaxed);
    serving_.store(++next, std::memory_order_seq_cst);
  }
}

// False when the turn came meanwhile.
bool Order::abandon(std::uint64_t ticket) {
  std::lock_guard lock(mutex_);
  abandoned_.insert(ticket);
  abandoned_count_.fetch_add(1, std::memory_order_seq_cst);
  if (serving_.load(std::memory_order_seq_cst) != ticket) return true;
  abandoned_.erase(ticket);
  abandoned_count_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

}  // namespace rondo::backend
