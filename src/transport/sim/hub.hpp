#pragma once
/// What the members of one group of a simulated world share.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/arena.hpp"
#include "transport/sim/pipe.hpp"
#include "transport/transport.hpp"

namespace rondo::transport::sim {

/// What the arenas of the members of a hub lie in, on the heap.
class ArenaMemory {
 public:
  ArenaMemory(std::size_t slot_bytes, std::size_t ranks);

  std::span<Published> published() noexcept { return published_; }
  std::byte* slots() noexcept { return slots_.get(); }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };

  std::size_t slot_bytes_;
  std::vector<Published> published_;
  std::unique_ptr<std::byte, Free> slots_;
};

class Hub {
 public:
  Hub(std::vector<int> members, std::vector<base::Event*> bells, std::size_t pipe_bytes,
      std::size_t arena_bytes);

  const std::vector<int>& members() const noexcept { return members_; }
  int size() const noexcept { return static_cast<int>(members_.size()); }
  Pipe& pipe(int from, int to, int lane) noexcept;
  const std::vector<base::Event*>& bells() const noexcept { return bells_; }
  ArenaMemory* arena() noexcept { return arena_.get(); }

  /// Keeps the first cause and wakes every member.
  void fail(const Failure& cause);
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  std::optional<Failure> failure() const;

 private:
  std::vector<int> members_;  // ranks of the world
  std::vector<base::Event*> bells_;
  std::vector<std::unique_ptr<Pipe>> pipes_;
  std::unique_ptr<ArenaMemory> arena_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
};

}  // namespace rondo::transport::sim
