#include "transport/match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/words.hpp"

namespace rondo::transport {

namespace {

// Read under the lock at a time: some tens of microseconds.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

std::string peer_name(int rank) { return rank == any_source ? "any rank" : fmt::format("rank {}", rank); }

}  // namespace

Match::Match(Progress& progress, Transport& transport, Options options)
    : progress_(progress),
      transport_(transport),
      // A payload that is to be checked travels with its checksum.
      doors_(options.single_copy_bytes > 0 && !options.check_payload ? transport.doors() : nullptr),
      options_(options),
      peers_(static_cast<std::size_t>(transport.size())) {
  transport_.attach(Lane::message, *this);
}

// ---- frames out ------------------------------------------------------------------------------------------

Header Match::header_of(int to, FrameKind kind, const Envelope& envelope, std::uint64_t number) {
  Header header;
  header.lane = Lane::message;
  header.kind = kind;
  header.sequence = peer(to).sequence++;
  header.number = number;
  header.dtype = envelope.dtype;
  header.root_or_tag = envelope.tag;
  header.dims = envelope.dims;
  header.count = envelope.bytes;
  return header;
}

// A frame of the protocol itself; it belongs to the wire.
void Match::reply(int to, FrameKind kind, std::uint64_t number, const std::string& words) {
  Header header = header_of(to, kind, {}, number);
  const auto bytes = std::as_bytes(std::span(words)).first(std::min(words.size(), most_words));
  header.bytes = bytes.size();
  transport_.post(*make_owned(to, Lane::message, header, bytes));
}

void Match::credit(int to, std::size_t charge) {
  Peer& each = peer(to);
  each.owed += charge;
  if (each.owed < options_.credit_bytes / 4) return;
  Envelope amount;
  amount.bytes = std::exchange(each.owed, std::size_t{0});
  transport_.post(*make_owned(to, Lane::message, header_of(to, FrameKind::credit, amount, 0), {}));
}

void Match::post_payload(Sending& sending, FrameKind kind) {
  Header header = header_of(sending.to_, kind, sending.envelope_, sending.id_);
  header.bytes = sending.payload_.size();
  if (options_.check_payload) header.payload_hash = payload_hash(sending.payload_);
  sending.frame_.peer = sending.to_;
  sending.frame_.lane = Lane::message;
  sending.frame_.head_bytes = encode(header, sending.frame_.head);
  sending.frame_.payload = sending.payload_;
  transport_.post(sending.frame_);
}

void Match::say_goodbye() {
  std::lock_guard lock(progress_.mutex());
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank != transport_.rank()) reply(rank, FrameKind::goodbye, 0);
  }
}

// ---- receiving -------------------------------------------------------------------------------------------

void Match::start(Receiving& receiving, int from, const Envelope& expected, std::span<std::byte> memory) {
  if (progress_.scheduler().simulated()) progress_.scheduler().yield();
  std::lock_guard lock(progress_.mutex());
  if (transport_.failed()) throw problem_of(transport_);
  if (from != any_source) throw_refusal(from);
  receiving.from_ = from;
  receiving.envelope_ = expected;
  receiving.memory_ = memory;
  receiving.problem_.reset();
  receiving.order_ = ++last_order_;
  receiving.state_ = Receiving::State::posted;
  posted_.push_back(&receiving);
  find_stored(receiving);
}

bool Match::matches(const Receiving& receiving, int source, int tag) const noexcept {
  return (receiving.from_ == any_source || receiving.from_ == source) &&
         (receiving.envelope_.tag == any_tag || receiving.envelope_.tag == tag);
}

// The first posted receive that a message matches, taken off the list.
Receiving* Match::take_posted(int source, int tag) {
  const auto at = std::find_if(posted_.begin(), posted_.end(),
                               [&](const Receiving* each) { return matches(*each, source, tag); });
  if (at == posted_.end()) return nullptr;
  Receiving* found = *at;
  posted_.erase(at);
  found->source_ = source;
  found->matched_tag_ = tag;
  return found;
}

// Type and shape must be those of the receive; otherwise it fails here and its sender is told. `offer` is 0
// for eager messages.
bool Match::agrees(Receiving& receiving, int source, const Envelope& envelope, std::uint64_t offer) {
  if (agree(receiving.envelope_, envelope)) return true;
  const std::string words =
      fmt::format("mismatch: rank {} sends {} with tag {}, rank {} expects {}", source, to_string(envelope),
                  envelope.tag, transport_.rank(), to_string(receiving.envelope_));
  receiving.problem_.emplace(ErrorKind::mismatch, source, words);
  receiving.state_ = Receiving::State::over;
  reply(source, FrameKind::refuse, offer, words);
  return false;
}

void Match::accept(Receiving& receiving, int source, std::uint64_t id, const Lying& lying) {
  receiving.state_ = Receiving::State::accepted;
  receiving.id_ = id;
  accepted_.push_back(&receiving);
  if (lying.ticket == 0 || doors_ == nullptr || !doors_->can_read(source)) {
    reply(source, FrameKind::accept, id);
    return;
  }
  receiving.lying_ = lying;
  receiving.read_ = 0;
  reading_.push_back(&receiving);
  read_on(receiving);
}

// Its message is not, or no longer, to be read where it lies.
void Match::stop_reading(Receiving& receiving) noexcept {
  receiving.lying_ = {};
  std::erase(reading_, &receiving);
}

// Reads the next piece of a message where it lies: a piece at a time, so that no other thread of this rank
// waits long for the lock. True when anything moved.
bool Match::read_on(Receiving& receiving) {
  const int source = receiving.source_;
  const std::uint64_t ticket = receiving.lying_.ticket;
  // One that has been taken back is left alone: its withdrawal is on the way.
  if (!doors_->is_valid(source, ticket)) return false;
  const std::span<std::byte> rest = receiving.memory_.subspan(receiving.read_);
  const std::span<std::byte> piece = rest.first(std::min(rest.size(), piece_bytes));
  if (doors_->read(source, receiving.lying_.address + receiving.read_, piece) != 0) {
    stop_reading(receiving);
    reply(source, FrameKind::accept, receiving.id_);
    return true;
  }
  receiving.read_ += piece.size();
  if (piece.size() == rest.size() && doors_->use(source, ticket)) {
    stop_reading(receiving);
    std::erase(accepted_, &receiving);
    finish(receiving);
  }
  return true;
}

bool Match::move() {
  bool moved = false;
  for (std::size_t i = reading_.size(); i-- > 0;) moved = read_on(*reading_[i]) || moved;
  return moved;
}

void Match::finish(Receiving& receiving) { receiving.state_ = Receiving::State::over; }

// Looks among what came before the receive.
void Match::find_stored(Receiving& receiving) {
  const auto at = find(receiving.from_, receiving.envelope_.tag);
  if (at == stored_.end()) return;
  std::erase(posted_, &receiving);
  receiving.source_ = at->source;
  receiving.matched_tag_ = at->envelope.tag;
  take_stored(receiving, at);
}

void Match::take_stored(Receiving& receiving, std::list<Stored>::iterator message) {
  const int source = message->source;
  if (message->offer) {
    const Envelope envelope = message->envelope;
    const std::uint64_t id = message->id;
    const Lying lying = message->lying;
    stored_.erase(message);
    if (agrees(receiving, source, envelope, id)) accept(receiving, source, id, lying);
    return;
  }
  const std::size_t charge = charge_of(message->envelope.bytes);
  peer(source).stored -= charge;
  credit(source, charge);
  if (!agrees(receiving, source, message->envelope, 0)) {
    if (message->complete) {
      stored_.erase(message);
    } else {
      message->unwanted = true;
    }
    return;
  }
  if (!message->complete) {
    message->claimed = &receiving;
    receiving.state_ = Receiving::State::landing;
    return;
  }
  if (!message->payload.empty()) {
    std::memcpy(receiving.memory_.data(), message->payload.data(), message->payload.size());
  }
  stored_.erase(message);
  finish(receiving);
}

std::list<Match::Stored>::iterator Match::find(int from, int tag) {
  return std::find_if(stored_.begin(), stored_.end(), [&](const Stored& each) {
    return (from == any_source || from == each.source) && (tag == any_tag || tag == each.envelope.tag) &&
           each.claimed == nullptr && !each.unwanted;
  });
}

// Nothing more can come from there.
bool Match::gone(int from) const noexcept {
  if (from != any_source) return peers_[static_cast<std::size_t>(from)].departed;
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (rank != transport_.rank() && !peers_[static_cast<std::size_t>(rank)].departed) return false;
  }
  return true;
}

class Match::ReceiveDone final : public Condition {
 public:
  ReceiveDone(Match& match, const Receiving& receiving) : match_(match), receiving_(receiving) {}
  bool met() override {
    if (receiving_.problem_) throw base::Problem(*receiving_.problem_);
    if (receiving_.state_ == Receiving::State::over) return true;
    if (match_.transport_.failed()) throw problem_of(match_.transport_);
    if (receiving_.from_ != any_source) match_.throw_refusal(receiving_.from_);
    if (receiving_.state_ == Receiving::State::posted && match_.gone(receiving_.from_)) {
      throw base::Problem(ErrorKind::disconnected, receiving_.from_,
                          receiving_.from_ == any_source
                              ? std::string("every other rank left the group")
                              : fmt::format("rank {} left the group", receiving_.from_));
    }
    return false;
  }

 private:
  Match& match_;
  const Receiving& receiving_;
};

bool Match::test(const Receiving& receiving) {
  progress_.poll();
  std::lock_guard lock(progress_.mutex());
  if (receiving.problem_ || receiving.state_ == Receiving::State::over || transport_.failed()) return true;
  if (receiving.from_ != any_source && !peer(receiving.from_).refusals.empty()) return true;
  return receiving.state_ == Receiving::State::posted && gone(receiving.from_);
}

void Match::wait(Receiving& receiving, base::Deadline& deadline) {
  try {
    ReceiveDone done(*this, receiving);
    if (!progress_.wait(transport_, deadline, done)) {
      throw base::Problem(ErrorKind::timed_out, receiving.from_,
                          timed_out(deadline, "a message from " + peer_name(receiving.from_)));
    }
  } catch (...) {
    cancel(receiving);
    throw;
  }
}

void Match::cancel(Receiving& receiving) noexcept {
  std::lock_guard lock(progress_.mutex());
  switch (receiving.state_) {
    case Receiving::State::idle:
    case Receiving::State::over:
      return;
    case Receiving::State::posted:
      std::erase(posted_, &receiving);
      break;
    case Receiving::State::accepted:
      std::erase(accepted_, &receiving);
      if (receiving.lying_.ticket != 0) {
        // The sender is answered as if its data were to come; they go to nowhere.
        stop_reading(receiving);
        if (!transport_.failed()) reply(receiving.source_, FrameKind::accept, receiving.id_);
      }
      peer(receiving.source_).abandoned.insert(receiving.id_);
      break;
    case Receiving::State::landing: {
      Peer& from = peer(receiving.source_);
      if (from.landing == &receiving) {
        from.landing = nullptr;
        transport_.drain(receiving.source_, Lane::message);
      }
      for (Stored& each : stored_) {
        if (each.claimed != &receiving) continue;
        each.claimed = nullptr;
        each.unwanted = true;
      }
      break;
    }
  }
  receiving.state_ = Receiving::State::over;
}

// ---- probing ---------------------------------------------------------------------------------------------

class Match::Found final : public Condition {
 public:
  Found(Match& match, int from, int tag) : match_(match), from_(from), tag_(tag) {}
  bool met() override {
    const auto at = match_.find(from_, tag_);
    if (at != match_.stored_.end()) {
      info = info_of(at->source, at->envelope);
      return true;
    }
    if (match_.transport_.failed()) throw problem_of(match_.transport_);
    if (from_ != any_source) match_.throw_refusal(from_);
    if (match_.gone(from_)) {
      throw base::Problem(ErrorKind::disconnected, from_, peer_name(from_) + " left the group");
    }
    return false;
  }
  MessageInfo info;

 private:
  Match& match_;
  int from_;
  int tag_;
};

std::optional<MessageInfo> Match::look(int from, int tag) {
  progress_.poll();
  std::lock_guard lock(progress_.mutex());
  if (transport_.failed()) throw problem_of(transport_);
  if (from != any_source) throw_refusal(from);
  const auto at = find(from, tag);
  if (at == stored_.end()) return std::nullopt;
  return info_of(at->source, at->envelope);
}

MessageInfo Match::probe(int from, int tag, base::Deadline& deadline) {
  Found found(*this, from, tag);
  if (!progress_.wait(transport_, deadline, found)) {
    throw base::Problem(ErrorKind::timed_out, from, timed_out(deadline, "a message from " + peer_name(from)));
  }
  return found.info;
}

}  // namespace rondo::transport
