#include "transport/collective_lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "base/fd.hpp"
#include "base/pause.hpp"
#include "transport/words.hpp"

namespace rondo::transport {

namespace {

constexpr int spins_before_polling = 200;

Stamp stamp_of(const Header& header) {
  return Stamp{.number = header.number,
               .verb = header.verb,
               .dtype = header.dtype,
               .op = header.op,
               .root = header.root_or_tag,
               .count = header.count,
               .name_hash = header.name_hash};
}

Header header_of(const Stamp& call, FrameKind kind) {
  Header header;
  header.kind = kind;
  header.verb = call.verb;
  header.op = call.op;
  header.dtype = call.dtype;
  header.number = call.number;
  header.root_or_tag = call.root;
  header.count = call.count;
  header.name_hash = call.name_hash;
  return header;
}

}  // namespace

CollectiveLane::CollectiveLane(Progress& progress, Transport& transport, bool check_payload,
                               std::size_t single_copy_bytes)
    : progress_(progress),
      transport_(transport),
      check_payload_(check_payload),
      single_copy_bytes_(transport.doors() != nullptr ? single_copy_bytes : 0),
      peers_(static_cast<std::size_t>(transport.size())) {
  transport_.attach(Lane::collective, *this);
}

void CollectiveLane::say_goodbye() {
  std::lock_guard lock(progress_.mutex());
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank())
      continue;  // who has left may still be waiting for its last frames to leave
    Header header;
    header.kind = FrameKind::goodbye;
    header.sequence = peer(rank).sequence++;
    transport_.post(*make_owned(rank, Lane::collective, header, {}));
  }
}

void CollectiveLane::begin(const Stamp& stamp, std::size_t unit_bytes, std::string_view unit) {
  current_ = stamp;
  unit_bytes_ = std::max<std::size_t>(1, unit_bytes);
  unit_ = unit;
  announced_ = false;
  for (Peer& each : peers_) each.parts_in = each.parts_out = 0;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (peer(rank).held) check(rank, *peer(rank).held);
  }
}

void CollectiveLane::end() noexcept {
  sends_.clear();
  expects_.clear();
  current_.reset();
  problem_.reset();
}

void CollectiveLane::found(ErrorKind kind, int rank, const std::string& text) {
  if (!problem_) problem_.emplace(kind, rank, text);
}

std::string CollectiveLane::both(int rank, const Stamp& theirs) const {
  return fmt::format("rank {} calls {}, rank {} calls {}", transport_.rank(), to_string(*current_), rank,
                     to_string(theirs));
}

// What a frame of the call in progress, of an earlier or of a later one tells.
void CollectiveLane::check(int rank, const Stamp& theirs) {
  if (theirs.number == current_->number) {
    if (theirs != *current_) found(ErrorKind::mismatch, rank, "mismatch: " + both(rank, theirs));
  } else if (theirs.number < current_->number) {
    const bool known = last_.number > 0 && last_.number == theirs.number;
    found(ErrorKind::mismatch, rank,
          fmt::format("mismatch: rank {} sent rank {} a part of {} that it did not expect{}", rank,
                      transport_.rank(), to_string(theirs),
                      known ? fmt::format(": rank {} called {}", transport_.rank(), to_string(last_)) : ""));
  } else if (peer(rank).first != nullptr) {
    found(ErrorKind::mismatch, rank,
          "mismatch: rank " + std::to_string(rank) + " is ahead: " + both(rank, theirs));
  }
}

std::string CollectiveLane::sizes_differ(int from, int to, std::uint64_t sent, std::uint64_t expected) const {
  const bool whole = sent % unit_bytes_ == 0 && expected % unit_bytes_ == 0;
  const std::size_t unit = whole ? unit_bytes_ : 1;
  return fmt::format("mismatch in {}: rank {} sends {} {} to rank {}, which expects {}", to_string(*current_),
                     from, sent / unit, whole ? unit_ : "bytes", to, expected / unit);
}

// In an uneven exchange the peer also tells what it expects from here.
void CollectiveLane::check_exchange(int rank, const Header& header) {
  if (sends_.empty() || header.number != current_->number || header.dims.size != 1) return;
  const std::size_t sent = sends_[static_cast<std::size_t>(rank)];
  const auto expected = static_cast<std::uint64_t>(header.dims.value[0]);
  if (sent != expected)
    found(ErrorKind::mismatch, rank, sizes_differ(transport_.rank(), rank, sent, expected));
}

Landing CollectiveLane::arriving(int rank, const Header& header) {
  Peer& from = peer(rank);
  from.seen = std::max(from.seen, header.number + 1);
  if (header.kind == FrameKind::presence) {
    // Who waits long wants to know who is there; answer once.
    if (current_ && current_->number == header.number) {
      check(rank, stamp_of(header));  // where nobody sends, this is all that tells of a disagreement
      announce();
    }
    return {};
  }
  from.held = stamp_of(header);
  if (!current_ || problem_) return {Landing::Verdict::later, {}};
  check(rank, *from.held);
  check_exchange(rank, header);
  if (problem_ || header.number != current_->number || from.first == nullptr) {
    return {Landing::Verdict::later, {}};
  }
  Pending& pending = *from.first;
  const auto expected = pending.in_.size();
  if (header.part != pending.part_ || header.bytes != expected) {
    found(ErrorKind::mismatch, rank, sizes_differ(rank, transport_.rank(), header.bytes, expected));
    return {Landing::Verdict::later, {}};
  }
  pending.landing_ = true;
  return {Landing::Verdict::take, pending.in_};
}

void CollectiveLane::arrived(int rank, const Header& header) {
  if (header.kind == FrameKind::presence) return;
  Peer& from = peer(rank);
  from.held.reset();
  if (from.first == nullptr || !from.first->landing_) return;  // its receive was taken back
  Pending& pending = *from.first;
  if (header.payload_hash != 0 && payload_hash(pending.in_) != header.payload_hash) {
    transport_.fail(Failure{
        ErrorKind::disconnected, rank,
        fmt::format("the payload from rank {} was corrupted on its way ({} bytes)", rank, header.bytes)});
    return;
  }
  from.first = pending.next_;
  if (from.first == nullptr) from.last = nullptr;
  pending.landing_ = false;
  pending.done_ = true;
}

void CollectiveLane::departed(int rank) { peer(rank).departed = true; }

// "I am in this call", to every rank, at most once per call.
void CollectiveLane::announce() {
  if (announced_ || transport_.failed()) return;
  announced_ = true;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank == transport_.rank() || peer(rank).departed) continue;
    Header header = header_of(*current_, FrameKind::presence);
    header.sequence = peer(rank).sequence++;
    transport_.post(*make_owned(rank, Lane::collective, header, {}));
  }
}

Pending::~Pending() {
  if (channel_ != nullptr) channel_->take_back(*this);
}

CollectiveChannel::CollectiveChannel(CollectiveLane& lane, const Stamp& stamp, base::Deadline& deadline,
                                     std::size_t unit_bytes, std::string_view unit)
    : lane_(lane),
      stamp_(stamp),
      deadline_(deadline),
      arena_(lane.transport_.arena()),
      unit_bytes_(unit_bytes),
      unit_(unit) {}

CollectiveChannel::~CollectiveChannel() {
  if (entered_) {
    std::lock_guard lock(lane_.progress_.mutex());
    lane_.end();
  }
  lane_.last_ = stamp_;
}

// From now on frames of this call find it.
void CollectiveChannel::enter() {
  if (std::exchange(entered_, true)) return;
  std::lock_guard lock(lane_.progress_.mutex());
  lane_.begin(stamp_, unit_bytes_, unit_);
}

int CollectiveChannel::rank() const noexcept { return lane_.transport_.rank(); }
int CollectiveChannel::size() const noexcept { return lane_.transport_.size(); }

void CollectiveChannel::send(Pending& pending, int to, std::span<const std::byte> bytes) {
  RONDO_INVARIANT(pending.channel_ == nullptr && to != rank());
  enter();
  Header header = header_of(stamp_, FrameKind::part);
  header.bytes = bytes.size();
  if (lane_.check_payload_) header.payload_hash = payload_hash(bytes);

  std::lock_guard lock(lane_.progress_.mutex());
  CollectiveLane::Peer& peer = lane_.peer(to);
  header.sequence = peer.sequence++;
  header.part = peer.parts_out++;
  if (!lane_.expects_.empty()) {
    header.dims.size = 1;
    header.dims.value[0] = static_cast<std::int64_t>(lane_.expects_[static_cast<std::size_t>(to)]);
  }
  pending.out_.peer = to;
  pending.out_.lane = Lane::collective;
  pending.out_.head_bytes = encode(header, pending.out_.head);
  pending.out_.payload = bytes;
  pending.peer_ = to;
  pending.receiving_ = pending.done_ = false;
  pending.channel_ = this;
  lane_.transport_.post(pending.out_);
}

void CollectiveChannel::recv(Pending& pending, int from, std::span<std::byte> bytes) {
  RONDO_INVARIANT(pending.channel_ == nullptr && from != rank());
  enter();
  std::lock_guard lock(lane_.progress_.mutex());
  CollectiveLane::Peer& peer = lane_.peer(from);
  pending.in_ = bytes;
  pending.peer_ = from;
  pending.part_ = peer.parts_in++;
  pending.receiving_ = true;
  pending.landing_ = pending.done_ = false;
  pending.next_ = nullptr;
  pending.channel_ = this;
  (peer.last != nullptr ? peer.last->next_ : peer.first) = &pending;
  peer.last = &pending;
  if (peer.held && !lane_.problem_) lane_.check(from, *peer.held);
}

class CollectiveChannel::Done final : public Condition {
 public:
  Done(CollectiveChannel& channel, Pending& pending) : channel_(channel), pending_(pending) {}
  bool met() override {
    if (!pending_.receiving_ && pending_.out_.state == Outgoing::State::done) return true;
    if (pending_.done_) return true;
    // A frame that cannot leave is no news by itself: a goodbye, or the end of the group, tells why.
    channel_.throw_if_over(pending_.peer_);
    return false;
  }

 private:
  CollectiveChannel& channel_;
  Pending& pending_;
};

// Throws when this call can never end well.
void CollectiveChannel::throw_if_over(int awaited) {
  if (lane_.transport_.failed()) throw problem_of(lane_.transport_);
  if (lane_.problem_) throw base::Problem(*lane_.problem_);
  if (lane_.peer(awaited).departed) {
    throw base::Problem(ErrorKind::disconnected, awaited, fmt::format("rank {} left the group", awaited));
  }
}

void CollectiveChannel::wait(Pending& pending) {
  if (pending.channel_ == nullptr) return;
  Done done(*this, pending);
  wait_for(done, pending.peer_);
  pending.channel_ = nullptr;
}

void CollectiveChannel::wait_for(Condition& condition, int awaited) {
  enter();
  Progress& progress = lane_.progress_;
  Transport& transport = lane_.transport_;
  // Half of the limit in silence; then everybody is told who is here, so that a time-out can name who is not.
  if (progress.look(transport, condition)) return;
  if (progress.wait_until(transport, deadline_.end() - deadline_.limit() / 2, condition)) return;
  {
    std::lock_guard lock(progress.mutex());
    lane_.announce();
  }
  if (progress.wait_until(transport, deadline_.end(), condition)) return;
  time_out(awaited);
}

void CollectiveChannel::time_out(int awaited) {
  const std::string who = missing();
  throw base::Problem(ErrorKind::timed_out, awaited,
                      timed_out(deadline_, fmt::format("rank {}{}", awaited, who)));
}

std::string CollectiveChannel::missing() {
  std::lock_guard lock(lane_.progress_.mutex());
  std::vector<int> ranks;
  for (int other = 0; other < size(); ++other) {
    const bool seen = lane_.peer(other).seen > lane_.current_->number;
    const bool met = arena_ != nullptr && arena_->last_step(other) >= lane_.step_;
    if (other != rank() && !seen && !met) ranks.push_back(other);
  }
  return ranks.empty() ? "" : fmt::format("; missing {}", list_ranks(ranks));
}

void CollectiveChannel::take_back(Pending& pending) noexcept {
  std::lock_guard lock(lane_.progress_.mutex());
  pending.channel_ = nullptr;
  if (!pending.receiving_) {
    lane_.transport_.cancel(pending.out_);
    return;
  }
  if (pending.done_) return;
  CollectiveLane::Peer& peer = lane_.peer(pending.peer_);
  if (pending.landing_) lane_.transport_.drain(pending.peer_, Lane::collective);
  Pending* before = nullptr;
  for (Pending* at = peer.first; at != &pending; at = at->next_) before = at;
  (before != nullptr ? before->next_ : peer.first) = pending.next_;
  if (peer.last == &pending) peer.last = before;
}

std::span<std::byte> CollectiveChannel::slot(int rank) noexcept {
  const auto whole = arena_->slot(rank);
  const std::size_t half = whole.size() / 2;
  return whole.subspan(turn() * half, half);
}

std::span<std::byte> CollectiveChannel::note(int rank) noexcept { return arena_->note(rank, turn()).bytes; }

void CollectiveChannel::meet() {
  arena_->note(rank(), turn()).stamp = stamp_;
  arena_->publish_note(turn(), ++lane_.step_);
  const int n = size();
  for (int other = 0; other < n; ++other) {
    if (other != rank()) reach(arena_->note(other, turn()).step, other);
  }
  for (int other = 0; other < n; ++other) {
    const Stamp& theirs = arena_->note(other, turn()).stamp;
    if (theirs == stamp_) continue;
    enter();
    throw base::Problem(ErrorKind::mismatch, other, "mismatch: " + lane_.both(other, theirs));
  }
}

void CollectiveChannel::arrive() {
  met_only_ = false;
  arena_->publish(++lane_.step_);
}

class CollectiveChannel::Reached final : public Condition {
 public:
  Reached(CollectiveChannel& channel, const std::atomic<std::uint64_t>& counter, int rank)
      : channel_(channel), counter_(counter), rank_(rank) {}
  bool met() override {
    if (counter_.load(std::memory_order_seq_cst) >= channel_.lane_.step_) return true;
    channel_.throw_if_over(rank_);
    return false;
  }

 private:
  CollectiveChannel& channel_;
  const std::atomic<std::uint64_t>& counter_;
  int rank_;
};

// A rank that is nearly there is met without the lock, the wires or a clock.
void CollectiveChannel::reach(const std::atomic<std::uint64_t>& counter, int rank) {
  const std::uint64_t step = lane_.step_;
  for (int left = std::min(lane_.progress_.spins(), spins_before_polling); left >= 0; --left) {
    if (counter.load(std::memory_order_acquire) >= step) return;
    base::pause_core();
  }
  Reached reached(*this, counter, rank);
  wait_for(reached, rank);
}

void CollectiveChannel::await(int rank) {
  reach(met_only_ ? arena_->note(rank, turn()).step : arena_->step(rank), rank);
}

void CollectiveChannel::await_all() {
  for (int other = 0; other < size(); ++other) {
    if (other != rank()) await(other);
  }
}

std::size_t CollectiveChannel::single_copy_bytes() const noexcept { return lane_.single_copy_bytes_; }

bool CollectiveChannel::reads_others() noexcept { return lane_.transport_.doors()->can_read_all(); }

Place CollectiveChannel::place_of(std::span<const std::byte> memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::span<std::byte> heap = lane_.transport_.heap(rank());
  const auto begin = reinterpret_cast<std::uintptr_t>(heap.data());
  const bool inside = address >= begin && address - begin < heap.size() && !heap.empty();
  return {address, inside ? 1 + (address - begin) : 0};
}

const std::byte* CollectiveChannel::look_at(int rank, const Place& place, std::size_t offset,
                                            std::size_t bytes) {
  if (place.shared == 0) return nullptr;
  const std::span<std::byte> heap = lane_.transport_.heap(rank);
  const std::uint64_t begin = place.shared - 1;
  if (begin > heap.size() || offset > heap.size() - begin || bytes > heap.size() - begin - offset) {
    throw base::Problem(ErrorKind::disconnected, rank,
                        fmt::format("rank {} broke the protocol: it tells of {} bytes at {} in a heap of {}",
                                    rank, bytes, begin + offset, heap.size()));
  }
  return heap.data() + begin + offset;
}

void CollectiveChannel::fetch(int rank, const Place& place, std::size_t offset, std::span<std::byte> into) {
  if (into.empty()) return;
  if (const std::byte* const here = look_at(rank, place, offset, into.size()); here != nullptr) {
    std::memcpy(into.data(), here, into.size());
    return;
  }
  const int result = lane_.transport_.doors()->read(rank, place.address + offset, into);
  if (result != 0) unreadable(rank, result);
}

// Never met: ends with what is told in the meantime.
class CollectiveChannel::Told final : public Condition {
 public:
  Told(CollectiveChannel& channel, int rank) : channel_(channel), rank_(rank) {}
  bool met() override {
    channel_.throw_if_over(rank_);
    return false;
  }

 private:
  CollectiveChannel& channel_;
  int rank_;
};

// The rank has died, most likely, and why is about to be told.
void CollectiveChannel::unreadable(int rank, int cause) {
  constexpr base::Duration patience = std::chrono::seconds(1);
  enter();
  Told told(*this, rank);
  Progress& progress = lane_.progress_;
  progress.wait_until(lane_.transport_, std::min(deadline_.end(), progress.scheduler().now() + patience),
                      told);
  throw base::Problem(ErrorKind::disconnected, rank,
                      fmt::format("the memory of rank {} cannot be read: {} (RONDO_SINGLE_COPY_BYTES=0 does "
                                  "without that)",
                                  rank, base::error_words(cause)));
}

void CollectiveChannel::exchange(std::span<const std::size_t> sends, std::span<const std::size_t> expects) {
  enter();
  std::lock_guard lock(lane_.progress_.mutex());
  lane_.sends_.assign(sends.begin(), sends.end());
  lane_.expects_.assign(expects.begin(), expects.end());
}

void CollectiveChannel::agree() {
  std::vector<Pending> out(static_cast<std::size_t>(size()));
  std::vector<Pending> in(static_cast<std::size_t>(size()));
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    recv(in[static_cast<std::size_t>(other)], other, {});
    send(out[static_cast<std::size_t>(other)], other, {});
  }
  for (auto& each : in) wait(each);
  for (auto& each : out) wait(each);
}

}  // namespace rondo::transport
