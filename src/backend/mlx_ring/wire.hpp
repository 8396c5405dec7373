#pragma once
/// The connections of a rank in a ring of MLX: bare bytes, no headers. Whoever waits moves the bytes of all
/// transfers, in both directions at once.

#include <poll.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/order.hpp"
#include "base/deadline.hpp"
#include "base/problem.hpp"
#include "net/socket.hpp"
#include "rendezvous/hostfile.hpp"
#include "rondo/error.hpp"

namespace rondo::backend::mlx {

enum class Side : std::uint8_t { left, right };

/// local = local op incoming, for `count` elements.
using Combine = std::function<void(std::byte* local, const std::byte* incoming, std::size_t count)>;

/// Bytes that go one way over one connection.
struct Transfer {
  std::byte* data = nullptr;
  std::size_t size = 0;
  /// To send: no byte goes before this transfer has finished the same byte. Null: all may go.
  const Transfer* after = nullptr;
  /// To receive: what comes is combined with what is there. Null: it replaces it.
  const Combine* combine = nullptr;
  std::size_t element = 1;  ///< bytes that are combined together
  std::size_t done = 0;
};

class Wire {
 public:
  /// Makes the connections in MLX's order: accepts from the left, then connects to the right, the last rank
  /// the other way round. Throws Problem(unavailable or timed_out) that names hostfile, entry and address.
  Wire(const rendezvous::Hostfile& file, int rank, base::Deadline& deadline);
  /// Of a rank alone.
  Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  /// Connections per neighbour.
  int cables() const noexcept { return static_cast<int>(lanes_.size() / 4); }
  int neighbour(Side side) const noexcept { return (rank_ + (side == Side::left ? size_ - 1 : 1)) % size_; }
  /// How many ranks the hostfile places at this rank's address.
  int ranks_here() const noexcept { return ranks_here_; }
  int place_here() const noexcept { return place_here_; }

  /// Transfers that belong together. Its turn on the wire lasts from the constructor to release() or the end.
  class Batch {
   public:
    /// Waits for the turn. Throws Problem(timed_out).
    Batch(Wire& wire, base::Deadline& deadline);
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    /// Takes back what has not begun. What is halfway ends the wire: nobody could tell where it stops.
    ~Batch();

    /// Both return the new transfer, or null when it is empty. Bytes of one connection go in the order of
    /// these calls.
    const Transfer* send(Side side, int cable, Transfer transfer) { return add(side, cable, true, transfer); }
    const Transfer* recv(Side side, int cable, Transfer transfer) {
      return add(side, cable, false, transfer);
    }
    /// Moves bytes until all are over. Throws Problem(timed_out, disconnected or the first cause).
    void finish(base::Deadline& deadline);
    /// Gives the turn back; the transfers go on whenever somebody moves bytes.
    void release() { turn_.reset(); }
    /// Takes the turn again and finishes.
    void wait(base::Deadline& deadline);
    /// Moves what can be moved now, unless another thread does; true when all are over.
    bool test();

   private:
    const Transfer* add(Side side, int cable, bool outgoing, const Transfer& transfer);
    bool over() const noexcept;
    void take_turn(base::Deadline& deadline);

    Wire& wire_;
    std::deque<Transfer> transfers_;
    std::optional<Order::Turn> turn_;
  };

  /// Ends the wire with its first cause: closes the connections, wakes who waits.
  void fail(const Failure& cause);
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  std::optional<Failure> failure() const;
  void close() noexcept;

 private:
  struct Lane {
    std::shared_ptr<net::SocketStream> stream;
    bool outgoing = false;
    int peer = -1;
    std::deque<Transfer*> queue;
    std::unique_ptr<std::byte[]> scratch;  // of lanes that have combined
    std::size_t pending = 0;               // bytes in scratch that are no whole element yet
  };

  Lane& lane(Side side, int cable, bool outgoing) {
    return lanes_[4 * static_cast<std::size_t>(cable) + (side == Side::left ? 0 : 2) + (outgoing ? 1 : 0)];
  }
  void connect_right(const rendezvous::Hostfile& file, base::Deadline& deadline);
  void accept_left(const rendezvous::Hostfile& file, std::vector<net::Listener>& listeners,
                   base::Deadline& deadline);
  void attach(Side side, int cable, base::Fd fd);
  bool move(Lane& lane);
  std::size_t move_some(Lane& lane, Transfer& transfer);
  bool move_all();
  void check() const;
  void nap(base::Deadline& deadline);
  [[noreturn]] void too_late(base::Deadline& deadline);

  const int rank_;
  const int size_;
  int ranks_here_ = 1;
  int place_here_ = 0;
  std::vector<Lane> lanes_;
  base::Event bell_;
  Order order_;
  std::vector<pollfd> polled_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Failure> failure_;
};

}  // namespace rondo::backend::mlx
