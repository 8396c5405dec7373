#include "transport/doors.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/process_memory.hpp"

namespace rondo::transport {

namespace {

// What stands in the place of a ticket, besides 0: that it is valid, or that it has been used.
constexpr std::uint64_t valid(std::uint64_t ticket) noexcept { return 2 * ticket; }
constexpr std::uint64_t used(std::uint64_t ticket) noexcept { return 2 * ticket + 1; }

}  // namespace

Doors::Doors(std::span<Door> doors, int rank, std::uint64_t proof) noexcept
    : doors_(doors), own_(of(rank)), known_(doors.size()), proof_(proof) {
  known_[static_cast<std::size_t>(rank)] = Known::readable;
  own_.pid = getpid();
  own_.proof_address = reinterpret_cast<std::uintptr_t>(&proof_);
  own_.proof = proof;
  own_.open.store(1, std::memory_order_release);
}

bool Doors::can_read(int rank) noexcept {
  std::atomic<Known>& entry = known_[static_cast<std::size_t>(rank)];
  Known known = entry.load(std::memory_order_relaxed);
  if (known == Known::nothing) {
    const Door& door = of(rank);
    if (door.open.load(std::memory_order_acquire) == 0) return false;
    std::uint64_t seen = 0;
    known = read(rank, door.proof_address, std::as_writable_bytes(std::span(&seen, 1))) == 0
                ? Known::readable
                : Known::unreadable;
    entry.store(known, std::memory_order_relaxed);
  }
  return known == Known::readable;
}

bool Doors::can_read_all() noexcept {
  for (int rank = 0; rank < static_cast<int>(doors_.size()); ++rank) {
    if (!can_read(rank)) return false;
  }
  return true;
}

int Doors::read(int rank, std::uint64_t address, std::span<std::byte> into) const noexcept {
  const Door& door = of(rank);
  std::uint64_t proof = ~door.proof;
  const std::array<base::RemotePiece, 2> pieces{
      {{door.proof_address, std::as_writable_bytes(std::span(&proof, 1))}, {address, into}}};
  const int result = base::read_process_memory(door.pid, pieces);
  if (result != 0) return result;
  return proof == door.proof ? 0 : ESRCH;
}

std::uint64_t Doors::issue() noexcept {
  for (std::size_t tried = 0; tried < Door::ticket_count; ++tried) {
    ++last_;
    if (place(own_, last_).load(std::memory_order_relaxed) != 0) continue;
    place(own_, last_).store(valid(last_), std::memory_order_release);
    return last_;
  }
  return 0;
}

bool Doors::take_back(std::uint64_t ticket) noexcept {
  std::uint64_t expected = valid(ticket);
  const bool unused = place(own_, ticket).compare_exchange_strong(expected, 0);
  if (!unused) place(own_, ticket).store(0);
  return unused;
}

bool Doors::is_used(std::uint64_t ticket) const noexcept {
  return place(own_, ticket).load(std::memory_order_acquire) == used(ticket);
}

bool Doors::is_valid(int rank, std::uint64_t ticket) const noexcept {
  return place(of(rank), ticket).load(std::memory_order_acquire) == valid(ticket);
}

bool Doors::use(int rank, std::uint64_t ticket) noexcept {
  std::uint64_t expected = valid(ticket);
  if (!place(of(rank), ticket).compare_exchange_strong(expected, used(ticket))) return false;
  wake(rank);
  return true;
}

}  // namespace rondo::transport
