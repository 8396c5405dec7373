#pragma once
/// Memory that all ranks of a transport address, for flat algorithms.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/header.hpp"

namespace rondo::transport {

/// How a rank enters a call: two cache lines, so that step, stamp and a few bytes of data come with one or
/// two misses. All zero is a new one.
struct alignas(128) Note {
  static constexpr std::size_t room = 88;  // 24 of them on the line of the step

  std::atomic<std::uint64_t> step{0};
  Stamp stamp;
  std::array<std::byte, room> bytes{};
};
static_assert(sizeof(Note) == 128 && offsetof(Note, bytes) == 40);

/// What a rank publishes. Only it writes here; all zero is a new one.
struct Published {
  std::array<Note, 2> notes;  ///< used in turn
  alignas(128) std::atomic<std::uint64_t> step{0};
};

/// Bytes of a slot among `ranks` ranks when `wanted` are wanted: whole lines, and room for flat algorithms,
/// which cut half of a slot into three regions with a place for every rank; 0 stays 0.
constexpr std::size_t slot_bytes_for(std::size_t wanted, std::size_t ranks) {
  constexpr std::size_t unit = 256;
  if (wanted < unit) return 0;
  const std::size_t least = 2 * 3 * 16 * ranks;
  return wanted >= least ? wanted / unit * unit : (least + unit - 1) / unit * unit;
}

/// One rank's view. Steps count up over all calls of the group.
class Arena {
 public:
  /// Over memory of the caller: one Published and one slot of `slot_bytes` (a multiple of 256, aligned to 64)
  /// per rank.
  Arena(std::span<Published> published, std::byte* slots, std::size_t slot_bytes, int rank) noexcept
      : published_(published), slots_(slots), slot_bytes_(slot_bytes), own_(of(rank)) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  virtual ~Arena() = default;

  /// Data of `rank`: everybody reads, only the owner writes.
  std::span<std::byte> slot(int rank) noexcept {
    return {slots_ + static_cast<std::size_t>(rank) * slot_bytes_, slot_bytes_};
  }
  Note& note(int rank, unsigned turn) noexcept { return of(rank).notes[turn & 1U]; }
  std::atomic<std::uint64_t>& step(int rank) noexcept { return of(rank).step; }

  /// Own note's step := step, after all that was written before (release), and wakes who waits for it.
  void publish_note(unsigned turn, std::uint64_t step) {
    own_.notes[turn & 1U].step.store(step, std::memory_order_seq_cst);
    wake_others();
  }
  /// The same with the counter of later steps.
  void publish(std::uint64_t step) {
    own_.step.store(step, std::memory_order_seq_cst);
    wake_others();
  }
  /// The last step of `rank`, whichever way it was published.
  std::uint64_t last_step(int rank) noexcept {
    std::uint64_t last = step(rank).load(std::memory_order_acquire);
    for (const Note& each : of(rank).notes) last = std::max(last, each.step.load(std::memory_order_acquire));
    return last;
  }

 private:
  Published& of(int rank) noexcept { return published_[static_cast<std::size_t>(rank)]; }
  /// Nudges every other rank's bell.
  virtual void wake_others() = 0;

  std::span<Published> published_;
  std::byte* slots_;
  std::size_t slot_bytes_;
  Published& own_;
};

}  // namespace rondo::transport
