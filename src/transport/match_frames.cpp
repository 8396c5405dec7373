// What Match does with the frames that arrive.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/match.hpp"

namespace rondo::transport {

void Match::protocol(int rank, const std::string& what) {
  transport_.fail(
      Failure{ErrorKind::disconnected, rank, fmt::format("rank {} broke the protocol: {}", rank, what)});
}

Landing Match::arriving(int rank, const Header& header) {
  Peer& from = peer(rank);
  switch (header.kind) {
    case FrameKind::eager:
      return arriving_eager(rank, header);
    case FrameKind::data:
      return arriving_data(rank, header);
    case FrameKind::offer:
      arriving_offer(rank, header);
      return {};
    case FrameKind::accept:
      arriving_accept(rank, header.number);
      return {};
    case FrameKind::withdraw:
      arriving_withdraw(rank, header.number);
      return {};
    case FrameKind::gone:
      from.withdrawn.erase(header.number);
      return {};
    case FrameKind::credit:
      if (header.count > from.outstanding) protocol(rank, "credit for more than was sent");
      from.outstanding -= std::min<std::size_t>(from.outstanding, header.count);
      return {};
    case FrameKind::refuse:
      if (header.bytes > most_words) {
        protocol(rank, fmt::format("a refusal of {} bytes", header.bytes));
        return {};
      }
      from.words.resize(header.bytes);
      return {Landing::Verdict::take, from.words};
    case FrameKind::skip:
    case FrameKind::goodbye:
    case FrameKind::presence:
    case FrameKind::part:
      break;
  }
  protocol(rank, fmt::format("frame kind {} on the message lane", static_cast<int>(header.kind)));
  return {};
}

Landing Match::arriving_eager(int rank, const Header& header) {
  Peer& from = peer(rank);
  const Envelope envelope = envelope_of(header);
  if (header.count != header.bytes || !consistent(envelope)) {
    protocol(rank, "a message whose bytes are not those of its shape");
    return {};
  }
  const std::size_t charge = charge_of(envelope.bytes);
  if (Receiving* receiving = take_posted(rank, envelope.tag); receiving != nullptr) {
    credit(rank, charge);
    if (!agrees(*receiving, rank, envelope, 0)) return {};
    receiving->state_ = Receiving::State::landing;
    from.landing = receiving;
    return {Landing::Verdict::take, receiving->memory_};
  }
  // Nothing is allocated beyond what the credit allows.
  if (from.stored + charge > options_.credit_bytes) {
    protocol(rank, "more unmatched bytes than its credit");
    return {};
  }
  from.stored += charge;
  Stored& stored = stored_.emplace_back();
  stored.source = rank;
  stored.envelope = envelope;
  stored.payload.resize(envelope.bytes);
  from.storing = &stored;
  return {Landing::Verdict::take, stored.payload};
}

void Match::arriving_offer(int rank, const Header& header) {
  const Envelope envelope = envelope_of(header);
  const Lying lying{header.name_hash, header.payload_hash};
  if (header.bytes != 0 || header.number == 0 || !consistent(envelope)) {
    protocol(rank, "a malformed offer");
    return;
  }
  if (Receiving* receiving = take_posted(rank, envelope.tag); receiving != nullptr) {
    if (agrees(*receiving, rank, envelope, header.number)) accept(*receiving, rank, header.number, lying);
    return;
  }
  Stored& stored = stored_.emplace_back();
  stored.source = rank;
  stored.envelope = envelope;
  stored.offer = true;
  stored.id = header.number;
  stored.lying = lying;
  stored.complete = true;
}

// The offer that an answer is about. Its frame must have left: nobody can have read it before, and the frame
// is about to be used again.
Sending* Match::unanswered(Peer& from, std::uint64_t id) noexcept {
  const auto at = std::find_if(from.offers.begin(), from.offers.end(), [&](const Sending* each) {
    return each->id_ == id && each->state_ == Sending::State::offered && !each->problem_ &&
           each->frame_.state == Outgoing::State::done;
  });
  return at == from.offers.end() ? nullptr : *at;
}

void Match::arriving_accept(int rank, std::uint64_t id) {
  Peer& from = peer(rank);
  if (from.withdrawn.erase(id) > 0) return;  // crossed our withdrawal, which undoes it there
  Sending* offered = unanswered(from, id);
  if (offered == nullptr) {
    protocol(rank, "an answer to an offer that was not made");
    return;
  }
  close_ticket(*offered);
  offered->state_ = Sending::State::moving;
  post_payload(*offered, FrameKind::data);
}

void Match::arriving_withdraw(int rank, std::uint64_t id) {
  const auto waiting = std::find_if(stored_.begin(), stored_.end(), [&](const Stored& each) {
    return each.offer && each.source == rank && each.id == id;
  });
  if (waiting != stored_.end()) {
    stored_.erase(waiting);
    reply(rank, FrameKind::gone, id);
    return;
  }
  if (peer(rank).abandoned.erase(id) > 0) return;
  const auto at = std::find_if(accepted_.begin(), accepted_.end(), [&](const Receiving* each) {
    return each->source_ == rank && each->id_ == id;
  });
  if (at == accepted_.end()) return;  // it was refused: the refusal is the answer
  // The receive goes back to where it stood, and looks again at what has come since.
  Receiving& receiving = **at;
  accepted_.erase(at);
  if (receiving.lying_.ticket != 0) {  // it was being read, and nothing has been answered
    stop_reading(receiving);
    reply(rank, FrameKind::gone, id);
  }
  receiving.state_ = Receiving::State::posted;
  receiving.source_ = -1;
  const auto place = std::find_if(posted_.begin(), posted_.end(),
                                  [&](const Receiving* each) { return each->order_ > receiving.order_; });
  posted_.insert(place, &receiving);
  find_stored(receiving);
}

Landing Match::arriving_data(int rank, const Header& header) {
  Peer& from = peer(rank);
  if (from.abandoned.erase(header.number) > 0) return {};
  const auto at = std::find_if(accepted_.begin(), accepted_.end(), [&](const Receiving* each) {
    return each->source_ == rank && each->id_ == header.number;
  });
  if (at == accepted_.end() || (*at)->memory_.size() != header.bytes || (*at)->lying_.ticket != 0) {
    protocol(rank, "data that nobody accepted");
    return {};
  }
  Receiving& receiving = **at;
  accepted_.erase(at);
  receiving.state_ = Receiving::State::landing;
  from.landing = &receiving;
  return {Landing::Verdict::take, receiving.memory_};
}

void Match::arrived(int rank, const Header& header) {
  Peer& from = peer(rank);
  if (header.kind == FrameKind::refuse) {
    arrived_refusal(rank, header.number);
    return;
  }
  Receiving* receiving = std::exchange(from.landing, nullptr);
  Stored* stored = std::exchange(from.storing, nullptr);
  if (receiving == nullptr && stored == nullptr) return;
  const std::span<const std::byte> payload =
      receiving != nullptr ? receiving->memory_ : std::span<std::byte>(stored->payload);
  if (header.payload_hash != 0 && payload_hash(payload) != header.payload_hash) {
    transport_.fail(Failure{
        ErrorKind::disconnected, rank,
        fmt::format("the payload from rank {} was corrupted on its way ({} bytes)", rank, header.bytes)});
    return;
  }
  if (receiving != nullptr) {
    finish(*receiving);
    return;
  }
  stored->complete = true;
  if (stored->claimed != nullptr) {
    if (!payload.empty()) std::memcpy(stored->claimed->memory_.data(), payload.data(), payload.size());
    finish(*stored->claimed);
  }
  if (stored->claimed != nullptr || stored->unwanted) {
    stored_.remove_if([&](const Stored& each) { return &each == stored; });
  }
}

void Match::arrived_refusal(int rank, std::uint64_t id) {
  Peer& from = peer(rank);
  const std::string words(reinterpret_cast<const char*>(from.words.data()), from.words.size());
  if (id == 0) {
    if (++from.eager_refused > from.eager_sent) {
      protocol(rank, "more refusals than messages");
      return;
    }
    from.refusals.emplace_back(ErrorKind::mismatch, rank, words);
    return;
  }
  if (from.withdrawn.erase(id) > 0) return;
  Sending* offered = unanswered(from, id);
  if (offered == nullptr) {
    protocol(rank, "an answer to an offer that was not made");
    return;
  }
  close_ticket(*offered);
  offered->problem_.emplace(ErrorKind::mismatch, rank, words);
}

void Match::departed(int rank) { peer(rank).departed = true; }

}  // namespace rondo::transport
