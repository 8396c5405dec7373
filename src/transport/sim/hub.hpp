#pragma once
/// What the members of one group of a simulated world share.

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/arena.hpp"
#include "transport/sim/pipe.hpp"
#include "transport/transport.hpp"

namespace rondo::transport::sim {

/// An arena on the heap, shared by the members of a hub.
class HeapArena {
 public:
  HeapArena(std::size_t slot_bytes, std::vector<base::Event*> bells);

  std::span<std::byte> slot(int rank) noexcept;
  std::span<std::byte> line(int rank, unsigned turn) noexcept;
  void publish(int rank, std::uint64_t step);
  std::uint64_t reached(int rank) const noexcept;

 private:
  struct alignas(64) Owner {
    std::atomic<std::uint64_t> step{0};
    alignas(64) std::array<std::array<std::byte, Header::fixed_bytes>, 2> lines{};
  };
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };

  std::size_t slot_bytes_;
  std::vector<base::Event*> bells_;
  std::vector<Owner> owners_;
  std::unique_ptr<std::byte, Free> memory_;
};

class Hub {
 public:
  Hub(std::vector<int> members, std::vector<base::Event*> bells, std::size_t pipe_bytes,
      std::size_t arena_bytes);

  const std::vector<int>& members() const noexcept { return members_; }
  int size() const noexcept { return static_cast<int>(members_.size()); }
  Pipe& pipe(int from, int to, int lane) noexcept;
  HeapArena* arena() noexcept { return arena_.get(); }

  /// Keeps the first cause and wakes every member.
  void fail(const Failure& cause);
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  std::optional<Failure> failure() const;

 private:
  std::vector<int> members_;  // ranks of the world
  std::vector<base::Event*> bells_;
  std::vector<std::unique_ptr<Pipe>> pipes_;
  std::unique_ptr<HeapArena> arena_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
};

}  // namespace rondo::transport::sim
