#pragma once
/// A transport narrowed to one collective call: what algorithms are written against.

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/header.hpp"
#include "transport/transport.hpp"

namespace rondo::transport {

class Channel;

/// One posted send or receive of an algorithm. Lives in the algorithm's frame; leaving the frame takes it
/// back.
class Pending {
 public:
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending();

 private:
  friend class CollectiveLane;
  friend class CollectiveChannel;
  Outgoing out_;                // the frame, when sending
  std::span<std::byte> in_;     // the memory, when receiving
  Channel* channel_ = nullptr;  // set while posted
  Pending* next_ = nullptr;     // receives of one peer, in order
  int peer_ = -1;
  std::uint32_t part_ = 0;
  bool receiving_ = false;
  bool landing_ = false;
  bool done_ = false;
};

/// Sends and receives of one call, in order per pair and direction; the k-th send to a rank meets the k-th
/// receive there, and both must name the same number of bytes. All ranks run the same algorithm. Frames of
/// zero bytes travel too. Every function may throw base::Problem (mismatch, timed_out, disconnected,
/// aborted), which algorithms let pass.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  /// Posts a send; `bytes` must stay until wait(pending) returns.
  virtual void send(Pending& pending, int to, std::span<const std::byte> bytes) = 0;
  /// Posts a receive of exactly bytes.size() bytes.
  virtual void recv(Pending& pending, int from, std::span<std::byte> bytes) = 0;
  /// Returns when the transfer is done; meanwhile everything else that is posted moves too. Done at once when
  /// nothing is posted. The Pending may be posted again afterwards.
  virtual void wait(Pending& pending) = 0;

  // Where the ranks share memory. Steps count per group and are equal on all ranks between calls.

  /// True when slot(), meet(), arrive() and await() may be used (the same on all ranks).
  virtual bool has_arena() const noexcept = 0;
  /// This call's part of a rank's slot: calls alternate between two halves, so that what a rank wrote in this
  /// call stays readable until that rank's next-but-one call. The same size on every rank, a multiple of 128,
  /// aligned to 64.
  virtual std::span<std::byte> slot(int rank) noexcept = 0;
  /// The same for Note::room bytes that lie beside the step of meet() and come with it: for the smallest
  /// data.
  virtual std::span<std::byte> note(int rank) noexcept = 0;
  /// First step of every call where there is an arena, exactly once: publishes this rank's stamp with what it
  /// wrote to its slot and note, waits for all ranks, and compares all stamps (throws mismatch). Afterwards
  /// all slots and notes may be read.
  virtual void meet() = 0;
  /// Next step: makes what was written to the own slot readable.
  virtual void arrive() = 0;
  /// Waits until every rank has made the step that this rank made last.
  virtual void await_all() = 0;
  /// Waits until `rank` has made the step that this rank made last.
  virtual void await(int rank) = 0;

  // Where the ranks can read each other's memory: what a rank tells of its own must stay as it is until a
  // later step of the readers.

  /// From this many bytes on it is worth while to ask; 0: never. The same on all ranks.
  virtual std::size_t single_copy_bytes() const noexcept = 0;
  /// Whether this rank can read private memory of all others.
  virtual bool reads_others() noexcept = 0;
  /// Where own memory lies, to be told to the others.
  virtual Place place_of(std::span<const std::byte> memory) = 0;
  /// Copies what lies at `offset` in memory that `rank` has told of. Where it is private, reads_others() must
  /// be true.
  virtual void fetch(int rank, const Place& place, std::size_t offset, std::span<std::byte> into) = 0;
  /// The same memory itself where it is shared, otherwise nullptr.
  virtual const std::byte* look_at(int rank, const Place& place, std::size_t offset, std::size_t bytes) = 0;

 protected:
  friend class Pending;
  virtual void take_back(Pending& pending) noexcept = 0;
};

}  // namespace rondo::transport
