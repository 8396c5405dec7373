#pragma once
/// Tests only: a Channel per thread of one process, which holds algorithms to the letter of the contract.
///
/// - A send is over only when its receive has been posted; nothing is buffered for the sender's sake.
/// - A receive spoils its memory at once and lands only in wait(). What was sent must not have changed by
/// then.
/// - Memory of a posted receive must not be that of any other posted transfer.
/// - The k-th send of a pair must have the size of the k-th receive.
/// - Arena, shared: plain memory ordered by nothing but the steps, for the thread sanitizer.
/// - Arena, snapshots: a rank sees of another's slot what that rank had written when it made the step that
/// this rank
///   waited for, and rubbish before.
/// - A wait that takes longer than the limit fails the world; every rank then throws base::Problem.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/problem.hpp"
#include "transport/arena.hpp"
#include "transport/channel.hpp"

namespace rondo::collective::fake {

enum class ArenaKind : std::uint8_t { none, shared, snapshots };
/// How ranks read each other's memory: not at all; one of them cannot; all copy it; all look at it; some of
/// either.
enum class Copies : std::uint8_t { none, but_one, read, shared, mixed };

struct Settings {
  int size = 2;
  ArenaKind arena = ArenaKind::none;
  std::size_t slot_bytes = 128;  ///< of one call: a multiple of 128
  std::chrono::milliseconds limit{60000};
  Copies copies = Copies::none;
};

/// From here on, where ranks read each other's memory.
inline constexpr std::size_t least_single_copy = 100;

class World;

class FakeChannel final : public transport::Channel {
 public:
  FakeChannel(World& world, int rank) : world_(world), rank_(rank) {}

  /// To be called between calls.
  void next_call();
  /// Times meet() was called in this call.
  int met() const noexcept { return met_; }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override;
  void send(transport::Pending& pending, int to, std::span<const std::byte> bytes) override;
  void recv(transport::Pending& pending, int from, std::span<std::byte> bytes) override;
  void wait(transport::Pending& pending) override;
  bool has_arena() const noexcept override;
  std::span<std::byte> slot(int rank) noexcept override;
  std::span<std::byte> note(int rank) noexcept override;
  void meet() override;
  void arrive() override;
  void await_all() override;
  void await(int rank) override;
  std::size_t single_copy_bytes() const noexcept override;
  bool reads_others() noexcept override;
  transport::Place place_of(std::span<const std::byte> memory) override;
  void fetch(int rank, const transport::Place& place, std::size_t offset, std::span<std::byte> into) override;
  const std::byte* look_at(int rank, const transport::Place& place, std::size_t offset,
                           std::size_t bytes) override;

 protected:
  void take_back(transport::Pending&) noexcept override {}

 private:
  friend class World;
  struct Post {
    int peer;
    std::size_t index;
    std::span<const std::byte> out;
    std::span<std::byte> in;
    bool receiving;
  };
  /// Fails when `bytes` overlaps memory that is posted: for a receive any, for a send that of receives.
  void must_be_free(std::span<const std::byte> bytes, bool receiving);
  void make_step();
  std::span<std::byte> view(int owner, std::size_t half) noexcept;

  World& world_;
  int rank_;
  std::map<transport::Pending*, Post> posts_;
  std::size_t half_ = 0;
  std::size_t step_ = 0;
  int met_ = 0;
  std::vector<std::byte> views_;  // [owner][half]: slot, note; the own one is what others get
};

class World {
 public:
  explicit World(const Settings& settings)
      : settings_(settings),
        wires_(static_cast<std::size_t>(settings.size) * static_cast<std::size_t>(settings.size)),
        steps_(static_cast<std::size_t>(settings.size)),
        snapshots_(static_cast<std::size_t>(settings.size)) {
    for (int r = 0; r < settings.size; ++r) channels_.push_back(std::make_unique<FakeChannel>(*this, r));
    for (const auto& channel : channels_) channel->views_.assign(view_bytes(), std::byte{0xA5});
    if (settings.arena == ArenaKind::shared) shared_.assign(view_bytes(), std::byte{0xA5});
  }

  /// Runs `body` once per rank, each on a thread of its own. Returns what went wrong first, or "".
  std::string run(const std::function<void(FakeChannel&)>& body) {
    std::vector<std::thread> threads;
    for (const auto& channel : channels_) {
      threads.emplace_back([this, &body, rank = channel.get()] {
        try {
          body(*rank);
        } catch (const std::exception& error) {
          note("rank " + std::to_string(rank->rank()) + ": " + error.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (!failed_) check_rest();
    return failure_;
  }

 private:
  friend class FakeChannel;
  struct Wire {  // one direction of a pair
    std::deque<std::vector<std::byte>> sent;
    std::deque<std::size_t> wanted;  // sizes of the receives
  };

  std::size_t view_bytes() const {
    return 2 * static_cast<std::size_t>(settings_.size) * (settings_.slot_bytes + transport::Note::room);
  }
  Wire& wire(int from, int to) {
    return wires_[static_cast<std::size_t>(from) * static_cast<std::size_t>(settings_.size) +
                  static_cast<std::size_t>(to)];
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failure_ = what;
    failed_ = true;
    moved_.notify_all();
  }
  [[noreturn]] void fail(const std::string& what) {
    note(what);
    throw base::Problem(ErrorKind::mismatch, -1, what);
  }
  void check_rest() {
    for (const auto& channel : channels_) {
      if (!channel->posts_.empty()) failure_ = "rank " + std::to_string(channel->rank_) + " left a Pending";
      if (channel->step_ != channels_[0]->step_) failure_ = "ranks made different numbers of steps";
    }
    for (const Wire& wire : wires_) {
      if (wire.sent.size() != wire.wanted.size()) failure_ = "sends without receives";
    }
  }

  Settings settings_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::vector<Wire> wires_;
  std::vector<std::atomic<std::size_t>> steps_;
  std::vector<std::map<std::size_t, std::vector<std::byte>>> snapshots_;  // [owner][step]
  std::vector<std::byte> shared_;
  std::vector<std::unique_ptr<FakeChannel>> channels_;
  std::atomic<bool> failed_ = false;
  std::string failure_;
};

inline int FakeChannel::size() const noexcept { return world_.settings_.size; }
inline bool FakeChannel::has_arena() const noexcept { return world_.settings_.arena != ArenaKind::none; }

inline void FakeChannel::next_call() {
  if (!posts_.empty()) world_.fail("rank " + std::to_string(rank_) + " left a Pending");
  half_ = 1 - half_;
  met_ = 0;
}

inline void FakeChannel::must_be_free(std::span<const std::byte> bytes, bool receiving) {
  if (bytes.empty()) return;
  const std::less<const std::byte*> precedes;
  for (const auto& [pending, post] : posts_) {
    if (!post.receiving && !receiving) continue;
    const std::span<const std::byte> other = post.receiving ? std::span<const std::byte>(post.in) : post.out;
    if (other.empty()) continue;
    if (precedes(bytes.data(), other.data() + other.size()) &&
        precedes(other.data(), bytes.data() + bytes.size())) {
      world_.fail("rank " + std::to_string(rank_) + " posts memory that is posted already");
    }
  }
}

inline void FakeChannel::send(transport::Pending& pending, int to, std::span<const std::byte> bytes) {
  if (to < 0 || to >= size() || to == rank_) world_.fail("a send to rank " + std::to_string(to));
  must_be_free(bytes, false);
  const std::lock_guard lock(world_.mutex_);
  World::Wire& wire = world_.wire(rank_, to);
  if (!posts_.emplace(&pending, Post{to, wire.sent.size(), bytes, {}, false}).second) {
    throw base::Problem(ErrorKind::mismatch, to, "a Pending posted twice");
  }
  wire.sent.emplace_back(bytes.begin(), bytes.end());
  world_.moved_.notify_all();
}

inline void FakeChannel::recv(transport::Pending& pending, int from, std::span<std::byte> bytes) {
  if (from < 0 || from >= size() || from == rank_) world_.fail("a receive from rank " + std::to_string(from));
  must_be_free(bytes, true);
  std::fill(bytes.begin(), bytes.end(), std::byte{0xDB});
  const std::lock_guard lock(world_.mutex_);
  World::Wire& wire = world_.wire(from, rank_);
  if (!posts_.emplace(&pending, Post{from, wire.wanted.size(), {}, bytes, true}).second) {
    throw base::Problem(ErrorKind::mismatch, from, "a Pending posted twice");
  }
  wire.wanted.push_back(bytes.size());
  world_.moved_.notify_all();
}

inline void FakeChannel::wait(transport::Pending& pending) {
  const auto found = posts_.find(&pending);
  if (found == posts_.end()) return;
  const Post post = found->second;
  posts_.erase(found);
  const std::string name = "rank " + std::to_string(rank_) + (post.receiving ? " from " : " to ") +
                           std::to_string(post.peer) + ", frame " + std::to_string(post.index) + ": ";
  std::unique_lock lock(world_.mutex_);
  World::Wire& wire = post.receiving ? world_.wire(post.peer, rank_) : world_.wire(rank_, post.peer);
  const bool met = world_.moved_.wait_for(lock, world_.settings_.limit, [&] {
    return world_.failed_ || std::min(wire.sent.size(), wire.wanted.size()) > post.index;
  });
  std::string wrong;
  if (world_.failed_) {
    wrong = "another rank failed";
  } else if (!met) {
    wrong = "no end in sight";
  } else if (const std::vector<std::byte>& frame = wire.sent[post.index];
             frame.size() != wire.wanted[post.index]) {
    wrong =
        std::to_string(frame.size()) + " bytes sent, " + std::to_string(wire.wanted[post.index]) + " wanted";
  } else if (post.receiving) {
    std::copy(frame.begin(), frame.end(), post.in.begin());
  } else if (!std::equal(frame.begin(), frame.end(), post.out.begin())) {
    wrong = "memory changed while it was sent";
  }
  lock.unlock();
  if (!wrong.empty()) world_.fail(name + wrong);
}

inline std::span<std::byte> FakeChannel::view(int owner, std::size_t half) noexcept {
  std::vector<std::byte>& memory = world_.settings_.arena == ArenaKind::shared ? world_.shared_ : views_;
  const std::size_t bytes = world_.settings_.slot_bytes + transport::Note::room;
  return std::span(memory).subspan((2 * static_cast<std::size_t>(owner) + half) * bytes, bytes);
}

inline std::span<std::byte> FakeChannel::slot(int rank) noexcept {
  return view(rank, half_).first(world_.settings_.slot_bytes);
}
inline std::span<std::byte> FakeChannel::note(int rank) noexcept {
  return view(rank, half_).last(transport::Note::room);
}

inline void FakeChannel::make_step() {
  ++step_;
  if (world_.settings_.arena == ArenaKind::snapshots) {
    const std::span<std::byte> own = view(rank_, half_);
    const std::lock_guard lock(world_.mutex_);
    world_.snapshots_[static_cast<std::size_t>(rank_)].emplace(step_, std::vector(own.begin(), own.end()));
  }
  world_.steps_[static_cast<std::size_t>(rank_)].store(step_, std::memory_order_release);
}

inline void FakeChannel::meet() {
  if (!has_arena()) world_.fail("meet() without an arena");
  if (++met_ > 1) world_.fail("meet() twice in one call");
  make_step();
  await_all();
}

inline void FakeChannel::arrive() {
  if (met_ != 1) world_.fail("arrive() before meet()");
  make_step();
}

inline void FakeChannel::await_all() {
  for (int r = 0; r < size(); ++r) await(r);
}

inline void FakeChannel::await(int rank) {
  if (met_ != 1) world_.fail("await() before meet()");
  if (rank == rank_) return;
  const auto end = std::chrono::steady_clock::now() + world_.settings_.limit;
  const std::atomic<std::size_t>& step = world_.steps_[static_cast<std::size_t>(rank)];
  while (step.load(std::memory_order_acquire) < step_) {
    if (world_.failed_) world_.fail("another rank failed");
    if (std::chrono::steady_clock::now() > end) world_.fail("no end in sight of a step");
    std::this_thread::yield();
  }
  if (world_.settings_.arena == ArenaKind::snapshots) {
    const std::lock_guard lock(world_.mutex_);
    const std::vector<std::byte>& seen = world_.snapshots_[static_cast<std::size_t>(rank)].at(step_);
    std::copy(seen.begin(), seen.end(), view(rank, half_).begin());
  }
}

inline std::size_t FakeChannel::single_copy_bytes() const noexcept {
  return world_.settings_.copies == Copies::none ? 0 : least_single_copy;
}

inline bool FakeChannel::reads_others() noexcept {
  const Copies copies = world_.settings_.copies;
  return copies == Copies::read || copies == Copies::mixed || (copies == Copies::but_one && rank_ != 1);
}

inline transport::Place FakeChannel::place_of(std::span<const std::byte> memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const Copies copies = world_.settings_.copies;
  const bool shared = copies == Copies::shared || (copies == Copies::mixed && rank_ % 2 == 0);
  return {address, shared ? address : 0};
}

// Plain loads, so that the thread sanitizer sees who reads what another writes.
inline void FakeChannel::fetch(int rank, const transport::Place& place, std::size_t offset,
                               std::span<std::byte> into) {
  if (place.shared == 0 && !reads_others())
    world_.fail("rank " + std::to_string(rank_) + " reads rank " + std::to_string(rank) + " and cannot");
  if (into.empty()) return;
  std::memcpy(into.data(), reinterpret_cast<const std::byte*>(place.address) + offset,
              into.size());  // NOLINT
}

inline const std::byte* FakeChannel::look_at(int, const transport::Place& place, std::size_t offset,
                                             std::size_t) {
  if (place.shared == 0) return nullptr;
  return reinterpret_cast<const std::byte*>(place.shared) + offset;  // NOLINT: of this process
}

}  // namespace rondo::collective::fake
