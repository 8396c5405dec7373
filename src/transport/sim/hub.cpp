#include "transport/sim/hub.hpp"

#include <cstdlib>
#include <new>

namespace rondo::transport::sim {

namespace {
constexpr std::size_t page = 4096;
}

void HeapArena::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

HeapArena::HeapArena(std::size_t slot_bytes, std::vector<base::Event*> bells)
    : slot_bytes_(slot_bytes),
      bells_(std::move(bells)),
      owners_(bells_.size()),
      memory_(static_cast<std::byte*>(
          std::aligned_alloc(page, (slot_bytes * bells_.size() + page - 1) / page * page))) {
  if (!memory_) throw std::bad_alloc();
}

std::span<std::byte> HeapArena::slot(int rank) noexcept {
  return {memory_.get() + static_cast<std::size_t>(rank) * slot_bytes_, slot_bytes_};
}

std::span<std::byte> HeapArena::line(int rank, unsigned turn) noexcept {
  return owners_[static_cast<std::size_t>(rank)].lines[turn & 1U];
}

void HeapArena::publish(int rank, std::uint64_t step) {
  owners_[static_cast<std::size_t>(rank)].step.store(step, std::memory_order_release);
  for (std::size_t other = 0; other < bells_.size(); ++other) {
    if (static_cast<int>(other) != rank) bells_[other]->ring();
  }
}

std::uint64_t HeapArena::reached(int rank) const noexcept {
  return owners_[static_cast<std::size_t>(rank)].step.load(std::memory_order_acquire);
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
  const std::size_t slot_bytes = arena_bytes / 256 * 256;
  if (slot_bytes > 0 && n > 1) arena_ = std::make_unique<HeapArena>(slot_bytes, bells_);
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
