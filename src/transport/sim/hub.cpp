#include "transport/sim/hub.hpp"

#include <cstdlib>
#include <new>

namespace rondo::transport::sim {

namespace {
constexpr std::size_t page = 4096;
}

void ArenaMemory::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

ArenaMemory::ArenaMemory(std::size_t slot_bytes, std::size_t ranks)
    : slot_bytes_(slot_bytes),
      published_(ranks),
      slots_(
          static_cast<std::byte*>(std::aligned_alloc(page, (slot_bytes * ranks + page - 1) / page * page))) {
  if (!slots_) throw std::bad_alloc();
}

Hub::Hub(std::vector<int> members, std::vector<base::Event*> bells, std::size_t pipe_bytes,
         std::size_t arena_bytes)
    : members_(std::move(members)), bells_(std::move(bells)) {
  const auto n = members_.size();
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      for (int lane = 0; lane < lane_count; ++lane) {
        pipes_.push_back(from == to ? nullptr
                                    : std::make_unique<Pipe>(pipe_bytes, *bells_[to], *bells_[from]));
      }
    }
  }
  const std::size_t slot_bytes = slot_bytes_for(arena_bytes, n);
  if (slot_bytes > 0 && n > 1) arena_ = std::make_unique<ArenaMemory>(slot_bytes, n);
}

Pipe& Hub::pipe(int from, int to, int lane) noexcept {
  const auto at = static_cast<std::size_t>((from * size() + to) * lane_count + lane);
  return *pipes_[at];
}

void Hub::fail(const Failure& cause) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = cause;
    failed_.store(true, std::memory_order_release);
  }
  for (base::Event* bell : bells_) bell->ring();
}

std::optional<Failure> Hub::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace rondo::transport::sim
