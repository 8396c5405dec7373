#pragma once
/// The collective lane of a group: frames of one call at a time, each checked against the call's stamp before
/// its payload is touched; and the Channel over it.

#include <atomic>
#include <exception>
#include <optional>
#include <vector>

#include "base/deadline.hpp"
#include "base/problem.hpp"
#include "transport/channel.hpp"
#include "transport/progress.hpp"

namespace rondo::transport {

/// One per group and rank. Used by one call at a time (backend/order.hpp sees to that).
class CollectiveLane final : public Receiver {
 public:
  /// Memory is read where it lies, if it can be, from `single_copy_bytes` bytes on; 0: never.
  CollectiveLane(Progress& progress, Transport& transport, bool check_payload,
                 std::size_t single_copy_bytes = 0);

  /// Says goodbye to every rank; nothing may be sent afterwards. Takes the lock.
  void say_goodbye();

  Landing arriving(int peer, const Header& header) override;
  void arrived(int peer, const Header& header) override;
  void departed(int peer) override;

 private:
  friend class CollectiveChannel;

  struct Peer {
    Pending* first = nullptr;  // posted receives, in order
    Pending* last = nullptr;
    std::uint32_t sequence = 0;   // of the next frame out
    std::uint32_t parts_out = 0;  // of this call
    std::uint32_t parts_in = 0;
    std::optional<Stamp> held;  // of the frame that waits on the wire
    std::uint64_t seen = 0;     // 1 + the highest number seen in its headers
    bool departed = false;
  };

  Peer& peer(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
  void begin(const Stamp& stamp, std::size_t unit_bytes, std::string_view unit);
  void end() noexcept;
  void check(int rank, const Stamp& theirs);
  void announce();
  void check_exchange(int rank, const Header& header);
  std::string sizes_differ(int from, int to, std::uint64_t sent, std::uint64_t expected) const;
  void found(ErrorKind kind, int rank, const std::string& text);
  std::string both(int rank, const Stamp& theirs) const;

  Progress& progress_;
  Transport& transport_;
  const bool check_payload_;
  const std::size_t single_copy_bytes_;
  std::vector<Peer> peers_;
  std::optional<Stamp> current_;  // of the call in progress, once frames matter to it
  Stamp last_;                    // of the last call that is over; not under the lock: calls take turns
  std::optional<base::Problem> problem_;  // what arriving frames showed; the call throws it
  std::vector<std::size_t> sends_;        // of an uneven exchange: bytes to and from every rank
  std::vector<std::size_t> expects_;
  std::size_t unit_bytes_ = 1;  // sizes that differ are told in these
  std::string_view unit_ = "bytes";
  bool announced_ = false;
  std::uint64_t step_ = 0;  // of the arena
};

/// A Channel for one call; its life is the call's. The lane hears of the call when frames begin to matter: a
/// call whose ranks meet in the arena at once takes no lock.
class CollectiveChannel final : public Channel {
 public:
  /// Payload sizes that differ are told in units of `unit_bytes`, called `unit` ("rows").
  CollectiveChannel(CollectiveLane& lane, const Stamp& stamp, base::Deadline& deadline,
                    std::size_t unit_bytes = 1, std::string_view unit = "bytes");
  ~CollectiveChannel() override;

  int rank() const noexcept override;
  int size() const noexcept override;
  void send(Pending& pending, int to, std::span<const std::byte> bytes) override;
  void recv(Pending& pending, int from, std::span<std::byte> bytes) override;
  void wait(Pending& pending) override;

  bool has_arena() const noexcept override { return arena_ != nullptr; }
  std::span<std::byte> slot(int rank) noexcept override;
  std::span<std::byte> note(int rank) noexcept override;
  void meet() override;
  void arrive() override;
  void await_all() override;
  void await(int rank) override;

  std::size_t single_copy_bytes() const noexcept override;
  bool reads_others() noexcept override;
  Place place_of(std::span<const std::byte> memory) override;
  void fetch(int rank, const Place& place, std::size_t offset, std::span<std::byte> into) override;
  const std::byte* look_at(int rank, const Place& place, std::size_t offset, std::size_t bytes) override;

  /// For a call in which ranks alone know what they exchange, one frame each way: bytes to and from every
  /// rank. Every frame then also tells what its sender expects from its receiver, so that both sides of a
  /// disagreement find it.
  void exchange(std::span<const std::size_t> sends, std::span<const std::size_t> expects);

  /// Compares this call with every rank's before data moves: a frame without payload to and from each
  /// (RONDO_CHECK=agreement).
  void agree();

 private:
  class Done;
  class Reached;
  class Told;

  void take_back(Pending& pending) noexcept override;
  void enter();
  unsigned turn() const noexcept { return static_cast<unsigned>(stamp_.number & 1U); }
  void reach(const std::atomic<std::uint64_t>& counter, int rank);
  void wait_for(Condition& condition, int awaited);
  [[noreturn]] void time_out(int awaited);
  void throw_if_over(int awaited);
  std::string missing();
  [[noreturn]] void unreadable(int rank, int cause);

  CollectiveLane& lane_;
  const Stamp stamp_;
  base::Deadline& deadline_;
  Arena* arena_;
  const std::size_t unit_bytes_;
  const std::string_view unit_;
  bool entered_ = false;
  bool met_only_ = true;  // the last step was meet()
};

}  // namespace rondo::transport
