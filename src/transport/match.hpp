#pragma once
/// Messages, matched once for all transports: (source, tag), first in first out, any_source and any_tag
/// included.
///
/// A message up to Options::eager_bytes travels at once, as long as the sender's unmatched bytes at that
/// receiver stay within its credit; any other sends an offer and waits for the receive. Every offer gets
/// exactly one answer: accept (then the data follows), refuse, or gone (it had been withdrawn). Where ranks
/// read each other's memory an offer tells where the message lies, with a ticket; a receiver that has read it
/// there uses up the ticket, and that is the answer. What arrives before its receive is kept in arrival
/// order; receives are kept in the order posted. A receive whose type or shape differs from the message that
/// matches it fails, and tells the sender.

#include <deque>
#include <list>
#include <optional>
#include <set>
#include <vector>

#include "base/deadline.hpp"
#include "base/problem.hpp"
#include "transport/envelope.hpp"
#include "transport/progress.hpp"

namespace rondo::transport {

class Match;

/// Where the message of an offer can be read; ticket 0: nowhere.
struct Lying {
  std::uint64_t address = 0;
  std::uint64_t ticket = 0;
};

/// One send. Lives in the caller's frame until it is done, failed or cancelled.
class Sending {
 public:
  Sending() = default;
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

 private:
  friend class Match;
  enum class State : std::uint8_t { idle, eager, offered, moving, over };
  State state_ = State::idle;
  Outgoing frame_;
  Envelope envelope_;
  std::span<const std::byte> payload_;
  int to_ = -1;
  std::uint64_t id_ = 0;      // of the offer
  std::uint64_t ticket_ = 0;  // of the memory, while it may be read; 0: none
  std::optional<base::Problem> problem_;
};

/// One receive, likewise.
class Receiving {
 public:
  Receiving() = default;
  Receiving(const Receiving&) = delete;
  Receiving& operator=(const Receiving&) = delete;

  /// The message that came, once done.
  int source() const noexcept { return source_; }
  int tag() const noexcept { return matched_tag_; }

 private:
  friend class Match;
  enum class State : std::uint8_t { idle, posted, accepted, landing, over };
  State state_ = State::idle;
  Envelope envelope_;  // expected
  std::span<std::byte> memory_;
  int from_ = -1;
  int source_ = -1;
  int matched_tag_ = 0;
  std::uint64_t order_ = 0;  // of posting
  std::uint64_t id_ = 0;     // of the accepted offer
  Lying lying_;              // where its message is being read
  std::size_t read_ = 0;     // bytes of it that have been
  std::optional<base::Problem> problem_;
};

class Match final : public Receiver {
 public:
  struct Options {
    std::size_t eager_bytes = 32 * 1024;
    std::size_t credit_bytes = 1024 * 1024;
    bool check_payload = false;
    std::size_t single_copy_bytes =
        0;  ///< from here on messages are read where they lie, if possible; 0: never
  };

  Match(Progress& progress, Transport& transport, Options options);

  // All of these take the progress lock. Problems they throw: mismatch (this message, or an earlier one to
  // that rank that had been sent and was refused since), disconnected, timed_out, and whatever ended the
  // group.

  void start(Sending& sending, int to, const Envelope& envelope, std::span<const std::byte> payload);
  void start(Receiving& receiving, int from, const Envelope& expected, std::span<std::byte> memory);
  /// True when wait would not block; moves what can be moved.
  bool test(const Sending& sending);
  bool test(const Receiving& receiving);
  /// Waits; whatever it throws, the transfer has been taken back.
  void wait(Sending& sending, base::Deadline& deadline);
  void wait(Receiving& receiving, base::Deadline& deadline);
  /// Takes back what is not over: afterwards its memory is not touched. False for a send whose message the
  /// receiver has had before that.
  bool cancel(Sending& sending) noexcept;
  void cancel(Receiving& receiving) noexcept;
  /// The first unmatched message, if there is one.
  std::optional<MessageInfo> look(int from, int tag);
  /// Waits for one.
  MessageInfo probe(int from, int tag, base::Deadline& deadline);
  void say_goodbye();

  Landing arriving(int peer, const Header& header) override;
  void arrived(int peer, const Header& header) override;
  void departed(int peer) override;
  bool move() override;

 private:
  class SendDone;
  class ReceiveDone;
  class Found;

  /// A message, or an offer of one, that no receive has matched.
  struct Stored {
    int source = -1;
    Envelope envelope;
    bool offer = false;
    std::uint64_t id = 0;
    Lying lying;
    std::vector<std::byte> payload;
    bool complete = false;         // the payload has arrived
    Receiving* claimed = nullptr;  // matched before it was complete
    bool unwanted = false;         // claimed, and the claimer is gone
  };

  struct Peer {
    std::uint32_t sequence = 0;  // of the next frame out
    std::uint64_t last_offer = 0;
    std::size_t outstanding = 0;  // sent eagerly and not known to be matched, charges included
    std::size_t owed = 0;         // matched here and not credited yet
    std::size_t stored = 0;       // arrived eagerly and not matched
    bool departed = false;
    std::vector<Sending*> offers;       // sent and not answered, or accepted and moving
    std::set<std::uint64_t> withdrawn;  // sent, withdrawn, and not answered
    std::set<std::uint64_t> abandoned;  // accepted here for a receive that is gone
    std::uint64_t eager_sent = 0;       // messages, and how many of them came back refused
    std::uint64_t eager_refused = 0;
    std::deque<base::Problem> refusals;  // of messages whose send has returned
    Receiving* landing = nullptr;        // where the frame under way goes: one of these three
    Stored* storing = nullptr;
    std::vector<std::byte> words;  // of a refusal
  };

  Peer& peer(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
  Header header_of(int to, FrameKind kind, const Envelope& envelope, std::uint64_t number);
  void reply(int to, FrameKind kind, std::uint64_t number, const std::string& words = {});
  void credit(int to, std::size_t charge);
  void post_payload(Sending& sending, FrameKind kind);
  void throw_refusal(int rank);
  void protocol(int rank, const std::string& what);

  Receiving* take_posted(int source, int tag);
  bool matches(const Receiving& receiving, int source, int tag) const noexcept;
  bool agrees(Receiving& receiving, int source, const Envelope& envelope, std::uint64_t offer);
  void find_stored(Receiving& receiving);
  void take_stored(Receiving& receiving, std::list<Stored>::iterator message);
  void accept(Receiving& receiving, int source, std::uint64_t id, const Lying& lying);
  void stop_reading(Receiving& receiving) noexcept;
  bool read_on(Receiving& receiving);
  bool lies_open(int to, std::size_t bytes) noexcept;
  bool is_read(const Sending& sending) const noexcept;
  void close_ticket(Sending& sending) noexcept;
  void finish(Receiving& receiving);
  Landing arriving_eager(int rank, const Header& header);
  void arriving_offer(int rank, const Header& header);
  static Sending* unanswered(Peer& from, std::uint64_t id) noexcept;
  void arriving_accept(int rank, std::uint64_t id);
  void arriving_withdraw(int rank, std::uint64_t id);
  Landing arriving_data(int rank, const Header& header);
  void arrived_refusal(int rank, std::uint64_t id);
  bool gone(int from) const noexcept;
  std::list<Stored>::iterator find(int from, int tag);

  Progress& progress_;
  Transport& transport_;
  Doors* const doors_;  // nullptr where messages are not read where they lie
  const Options options_;
  std::vector<Peer> peers_;
  std::vector<Receiving*> posted_;  // in order of posting
  std::vector<Receiving*> accepted_;
  std::vector<Receiving*> reading_;  // those of them that read where the message lies
  std::list<Stored> stored_;         // in order of arrival
  std::uint64_t last_order_ = 0;
};

}  // namespace rondo::transport
