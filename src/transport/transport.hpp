#pragma once
/// The seam between wires and everything above: ordered frames between the ranks of one group, on two lanes
/// per pair.
///
/// A transport moves frames and knows nothing of what they mean. Who receives is attached per lane. All
/// members but fail() are called with the progress lock of the rank held (transport/progress.hpp); a
/// transport needs no lock of its own.

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/scheduler.hpp"
#include "rondo/config.hpp"
#include "rondo/error.hpp"
#include "transport/arena.hpp"
#include "transport/doors.hpp"
#include "transport/header.hpp"

namespace rondo::transport {

/// One frame on its way out. It lives in the sender's frame and the wire borrows it until `state` is done or
/// failed, or cancel() has returned.
struct Outgoing {
  enum class State : std::uint8_t { idle, queued, moving, done, failed };

  int peer = -1;
  Lane lane = Lane::collective;
  State state = State::idle;
  HeaderBytes head{};
  std::size_t head_bytes = 0;
  std::span<const std::byte> payload;
  std::size_t moved = 0;  ///< bytes of head and payload that have left
  bool owned = false;     ///< made by make_owned: the wire deletes it when done
  Outgoing* next = nullptr;
};

/// A frame with a private copy of its payload; posted, it belongs to the wire.
Outgoing* make_owned(int peer, Lane lane, const Header& header, std::span<const std::byte> payload);
/// The same from encoded bytes.
Outgoing* make_owned(int peer, Lane lane, std::span<const std::byte> head,
                     std::span<const std::byte> payload);
void delete_owned(Outgoing* outgoing) noexcept;

/// Where the payload of an arriving frame goes.
struct Landing {
  enum class Verdict : std::uint8_t { take, drain, later } verdict = Verdict::drain;
  std::span<std::byte> memory;  ///< take: exactly Header::bytes bytes
};

/// Who receives the frames of a lane.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// A frame's header is there. Says where its payload goes: into memory, to nowhere, or `later`: the frame
  /// stays on the wire and is asked about again at every poll.
  virtual Landing arriving(int peer, const Header& header) = 0;
  /// The payload is complete (or drained, or there was none).
  virtual void arrived(int peer, const Header& header) = 0;
  /// The peer is gone after a goodbye: nothing more comes from it.
  virtual void departed(int peer) = 0;
  /// Called at every poll: moves what moves without frames. True when anything moved.
  virtual bool move() { return false; }
};

/// Names one group among all of a world: equal on its members, distinct otherwise.
using GroupId = std::vector<std::uint64_t>;

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  virtual Backend kind() const noexcept = 0;
  /// Place and number among the ranks of this host.
  virtual int local_rank() const noexcept { return rank(); }
  virtual int local_size() const noexcept { return size(); }

  virtual void attach(Lane lane, Receiver& receiver) = 0;
  /// Queues a frame behind the earlier ones of its lane and peer, and writes what can be written at once. The
  /// header's sequence number must be the next of its lane and peer.
  virtual void post(Outgoing& outgoing) = 0;
  /// Gives the memory back. A frame that had not begun leaves a skip frame in its place; one that had is
  /// finished from a private copy. True when the frame had not begun.
  virtual bool cancel(Outgoing& outgoing) = 0;
  /// The memory given for the frame that is landing on `lane` from `peer` is taken back: the rest goes to
  /// nowhere.
  virtual void drain(int peer, Lane lane) = 0;
  /// Moves what can be moved without waiting. True when anything moved.
  virtual bool poll() = 0;
  /// The same for what comes from one peer on one lane.
  virtual bool poll(int peer, Lane lane) = 0;
  /// When poll() should be called even if nothing rings (a delayed frame, say).
  virtual base::TimePoint next_turn() const { return base::never; }
  /// Adds what poll() should wait for; nothing where bells ring for everything.
  virtual void append_polled(std::vector<pollfd>&) const {}
  /// True when all that was posted has left.
  virtual bool flushed() const = 0;
  /// Closes the wires to `peer` without a goodbye, as a lost connection would.
  virtual void cut(int peer) = 0;

  /// Ends the group on every rank with this cause, unless it has ended already: the first one stays. Any
  /// thread, no lock.
  virtual void fail(const Failure& cause) = 0;
  /// True once the group has ended. Any thread; one load.
  virtual bool failed() const noexcept = 0;
  /// The first cause. Any thread.
  virtual std::optional<Failure> failure() const = 0;

  /// Memory that all ranks share, or nullptr.
  virtual Arena* arena() noexcept { return nullptr; }
  /// How ranks read each other's memory, or nullptr. The same on all ranks.
  virtual Doors* doors() noexcept { return nullptr; }
  /// Memory for tensors of `rank` that all ranks address, as it is seen here; empty where there is none, and
  /// for this rank before it has allocated any. Only the owner writes. Any thread. Throws
  /// Problem(unavailable).
  virtual std::span<std::byte> heap(int rank) {
    static_cast<void>(rank);
    return {};
  }
  /// Zeroed memory in this rank's heap, or nullptr where there is none. Any thread. Throws
  /// Problem(unavailable).
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) {
    static_cast<void>(bytes);
    return nullptr;
  }
  /// Wires of a group of some of the ranks (given as ranks of this one, in the new order, this rank
  /// included).
  virtual std::unique_ptr<Transport> sub(const GroupId& id, std::span<const int> members) = 0;
};

}  // namespace rondo::transport
