// Match, the sender's side.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transport/match.hpp"
#include "transport/words.hpp"

namespace rondo::transport {

void Match::throw_refusal(int rank) {
  Peer& each = peer(rank);
  if (each.refusals.empty()) return;
  const base::Problem problem = each.refusals.front();
  each.refusals.pop_front();
  throw problem;
}

void Match::start(Sending& sending, int to, const Envelope& envelope, std::span<const std::byte> payload) {
  if (progress_.scheduler().simulated()) progress_.scheduler().yield();
  std::lock_guard lock(progress_.mutex());
  Peer& each = peer(to);
  // A refusal may be waiting, or credit; what else moves may be what another thread waits for.
  if (each.outstanding > 0 && transport_.poll(to, Lane::message)) progress_.ring();
  if (transport_.failed()) throw problem_of(transport_);
  throw_refusal(to);
  if (each.departed)
    throw base::Problem(ErrorKind::disconnected, to, fmt::format("rank {} left the group", to));

  sending.to_ = to;
  sending.envelope_ = envelope;
  sending.payload_ = payload;
  sending.problem_.reset();
  sending.ticket_ = 0;
  const std::size_t charge = charge_of(payload.size());
  if (payload.size() <= options_.eager_bytes && each.outstanding + charge <= options_.credit_bytes) {
    sending.id_ = 0;
    sending.state_ = Sending::State::eager;
    each.outstanding += charge;
    ++each.eager_sent;
    post_payload(sending, FrameKind::eager);
    return;
  }
  sending.id_ = ++each.last_offer;
  sending.state_ = Sending::State::offered;
  each.offers.push_back(&sending);
  sending.frame_.peer = to;
  sending.frame_.lane = Lane::message;
  Header header = header_of(to, FrameKind::offer, envelope, sending.id_);
  if (lies_open(to, payload.size())) sending.ticket_ = doors_->issue();
  if (sending.ticket_ != 0) {
    header.name_hash = reinterpret_cast<std::uintptr_t>(payload.data());
    header.payload_hash = sending.ticket_;
  }
  sending.frame_.head_bytes = encode(header, sending.frame_.head);
  sending.frame_.payload = {};
  transport_.post(sending.frame_);
}

// Whether an offer of a message of this size tells where it lies.
bool Match::lies_open(int to, std::size_t bytes) noexcept {
  return doors_ != nullptr && bytes >= std::max<std::size_t>(options_.single_copy_bytes, 1) &&
         doors_->can_read(to);
}

// True when the receiver has read the message where it lies: then the send is over.
bool Match::is_read(const Sending& sending) const noexcept {
  return sending.ticket_ != 0 && doors_->is_used(sending.ticket_);
}

void Match::close_ticket(Sending& sending) noexcept {
  if (sending.ticket_ != 0) doors_->take_back(std::exchange(sending.ticket_, 0));
}

class Match::SendDone final : public Condition {
 public:
  SendDone(Match& match, const Sending& sending) : match_(match), sending_(sending) {}
  bool met() override {
    using State = Sending::State;
    if (match_.is_read(sending_)) return true;
    if (sending_.problem_) throw base::Problem(*sending_.problem_);
    if (sending_.state_ == State::over) return true;
    const bool whole = sending_.state_ == State::eager || sending_.state_ == State::moving;
    if (whole && sending_.frame_.state == Outgoing::State::done) return true;
    if (match_.transport_.failed()) throw problem_of(match_.transport_);
    match_.throw_refusal(sending_.to_);
    // A frame that cannot leave is no news by itself: a goodbye, or the end of the group, tells why.
    if (match_.peer(sending_.to_).departed) {
      throw base::Problem(ErrorKind::disconnected, sending_.to_,
                          fmt::format("rank {} left the group", sending_.to_));
    }
    return false;
  }

 private:
  Match& match_;
  const Sending& sending_;
};

bool Match::test(const Sending& sending) {
  progress_.poll();
  std::lock_guard lock(progress_.mutex());
  if (is_read(sending)) return true;
  using State = Sending::State;
  if (sending.problem_ || sending.state_ == State::over || transport_.failed()) return true;
  if (!peer(sending.to_).refusals.empty() || peer(sending.to_).departed) return true;
  return sending.state_ != State::offered &&
         (sending.frame_.state == Outgoing::State::done || sending.frame_.state == Outgoing::State::failed);
}

void Match::wait(Sending& sending, base::Deadline& deadline) {
  try {
    SendDone done(*this, sending);
    if (!progress_.wait(transport_, deadline, done)) {
      throw base::Problem(ErrorKind::timed_out, sending.to_,
                          timed_out(deadline, fmt::format("rank {} to receive", sending.to_)));
    }
  } catch (...) {
    if (!cancel(sending)) return;
    throw;
  }
  std::lock_guard lock(progress_.mutex());
  close_ticket(sending);
  if (sending.state_ != Sending::State::eager) std::erase(peer(sending.to_).offers, &sending);
  sending.state_ = Sending::State::over;
}

bool Match::cancel(Sending& sending) noexcept {
  std::lock_guard lock(progress_.mutex());
  if (sending.ticket_ != 0 && !doors_->take_back(sending.ticket_)) {
    sending.ticket_ = 0;
    std::erase(peer(sending.to_).offers, &sending);
    sending.state_ = Sending::State::over;
    return false;
  }
  sending.ticket_ = 0;
  Peer& each = peer(sending.to_);
  const bool queued =
      sending.frame_.state == Outgoing::State::queued || sending.frame_.state == Outgoing::State::moving;
  switch (sending.state_) {
    case Sending::State::idle:
    case Sending::State::over:
      return true;
    case Sending::State::eager:
      if (queued && transport_.cancel(sending.frame_)) each.outstanding -= charge_of(sending.payload_.size());
      break;
    case Sending::State::offered:
      std::erase(each.offers, &sending);
      if (sending.problem_) break;  // refused: answered
      if (queued && transport_.cancel(sending.frame_)) break;
      each.withdrawn.insert(sending.id_);
      if (!transport_.failed()) reply(sending.to_, FrameKind::withdraw, sending.id_);
      break;
    case Sending::State::moving:
      std::erase(each.offers, &sending);
      // The receiver has been promised the data: it gets them, from a private copy.
      if (queued && transport_.cancel(sending.frame_) && !transport_.failed()) {
        Header header = header_of(sending.to_, FrameKind::data, sending.envelope_, sending.id_);
        header.bytes = sending.payload_.size();
        if (options_.check_payload) header.payload_hash = payload_hash(sending.payload_);
        transport_.post(*make_owned(sending.to_, Lane::message, header, sending.payload_));
      }
      break;
  }
  sending.state_ = Sending::State::over;
  return true;
}

}  // namespace rondo::transport
