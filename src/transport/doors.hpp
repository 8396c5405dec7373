#pragma once
/// Single copy: how ranks of one host read each other's memory, without a stop in a place that both share.
///
/// Nobody writes into the memory of another process. A rank says where something lies; who wants it reads it
/// there, and says so. Two things must not go wrong:
/// - Another process may have the rank's number by now, or may be meant in the first place (other name spaces
/// of processes). So every door tells where a random number lies, and whoever reads takes that number along.
/// - The rank may have given up, and use the memory for something else. In a collective that does no harm:
/// the call then cannot end well anywhere, since a step is missing. A message has a ticket, valid until one
/// of two changes it: the reader, who has all of it, or the owner, who takes it back.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rondo::transport {

/// What a rank shows of itself, in memory that all ranks of the group address. All zero is one that is shut.
struct Door {
  static constexpr std::size_t ticket_count = 64;

  std::atomic<std::uint32_t> open{0};  ///< 1: what follows is true
  std::int32_t pid = 0;
  std::uint64_t proof_address = 0;
  std::uint64_t proof = 0;
  alignas(64) std::array<std::atomic<std::uint64_t>, ticket_count> tickets{};
};

/// Where memory of a rank lies, as it tells the others.
struct Place {
  std::uint64_t address = 0;  ///< in its process
  std::uint64_t shared = 0;   ///< 1 + where it begins in the rank's heap (Transport::heap); 0: elsewhere
};

/// One rank's view. Any thread, but for tickets of this rank: with the progress lock held.
class Doors {
 public:
  /// Opens the own door. `proof` is a random number.
  Doors(std::span<Door> doors, int rank, std::uint64_t proof) noexcept;
  Doors(const Doors&) = delete;
  Doors& operator=(const Doors&) = delete;
  virtual ~Doors() = default;

  /// Whether this rank can read the memory of `rank`. Tried until the door there is open, then known.
  bool can_read(int rank) noexcept;
  bool can_read_all() noexcept;
  /// Reads into.size() bytes that lie at `address` in the memory of `rank`. Returns 0 or an errno, ESRCH also
  /// where another process answers.
  int read(int rank, std::uint64_t address, std::span<std::byte> into) const noexcept;

  /// A ticket for memory of this rank; 0 when there is none left.
  std::uint64_t issue() noexcept;
  /// Takes it back. False when its reader has had all of it.
  bool take_back(std::uint64_t ticket) noexcept;
  /// True when its reader has had all of it.
  bool is_used(std::uint64_t ticket) const noexcept;
  /// On the reader's side: whether `rank` still stands by it.
  bool is_valid(int rank, std::uint64_t ticket) const noexcept;
  /// On the reader's side, who has read all of it: false when the owner has taken it back, and what was read
  /// is worth nothing. Wakes the owner.
  bool use(int rank, std::uint64_t ticket) noexcept;

 private:
  enum class Known : std::uint8_t { nothing, readable, unreadable };
  static std::atomic<std::uint64_t>& place(Door& door, std::uint64_t ticket) noexcept {
    return door.tickets[ticket % Door::ticket_count];
  }
  Door& of(int rank) const noexcept { return doors_[static_cast<std::size_t>(rank)]; }
  virtual void wake(int rank) = 0;

  std::span<Door> doors_;
  Door& own_;
  std::vector<std::atomic<Known>> known_;
  std::uint64_t proof_;  // others read it
  std::uint64_t last_ = 0;
};

}  // namespace rondo::transport
