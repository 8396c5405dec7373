#pragma once
/// The opening of every connection between processes of a job. Both sides say who they are and prove that
/// they know the job's secret; only then is anything believed.
///
///     opener                             acceptor
///     hello                      ->
///                                <-      hello, proof
///     proof                      ->
///                                <-      verdict: welcome, or a refusal in words
///
/// A proof is an HMAC over the role and both hellos, nonces in them, so that it can be neither replayed nor
/// sent back. Either side may send a verdict in place of its next frame. The head of a frame and the whole
/// verdict are the same in every version of the protocol.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/secret.hpp"
#include "net/stream.hpp"

namespace rondo::control {

inline constexpr std::uint16_t protocol_version = 1;
/// Rank of the launcher, which is nobody's peer but serves all. In Hello::to: whoever answers.
inline constexpr int no_rank = -1;

/// What a connection is for.
enum class Purpose : std::uint8_t { rendezvous, control, collective_lane, message_lane, segment };
std::string_view to_string(Purpose purpose) noexcept;

/// Who speaks, and what for.
struct Hello {
  std::uint16_t version = protocol_version;
  Purpose purpose = Purpose::rendezvous;
  std::uint16_t index = 0;  ///< which of several connections for one purpose
  int rank = no_rank;
  int size = 0;
  int to = no_rank;         ///< the rank that the opener looks for
  std::uint64_t group = 0;  ///< hash of the group's identity; 0 for the job's own connections
  JobId job{};
  Nonce nonce{};

  friend bool operator==(const Hello&, const Hello&) = default;
};

/// Who a process is in its job.
struct Identity {
  int rank = no_rank;
  int size = 0;
  JobId job{};
  std::string secret;  ///< empty: nothing to prove (development on one host)
};
/// The hello of this process, with a fresh nonce.
Hello hello_of(const Identity& identity, Purpose purpose);

/// Why a connection is refused.
enum class Why : std::uint16_t {
  none,       ///< it is not
  stranger,   ///< does not speak this protocol; gets no answer
  version,    ///< another version of the protocol
  job,        ///< another job
  secret,     ///< knows another secret
  size,       ///< another number of ranks
  rank,       ///< a rank that does not exist, or not the one looked for
  duplicate,  ///< that rank is there already
  unexpected  ///< nobody waits for such a connection
};
struct Refusal {
  Why why = Why::none;
  std::string text;  ///< names both sides' values; printable, at most Handshake::most_words bytes
};

/// "rank 3", "the launcher".
std::string name_of(int rank);

/// One side of one handshake: bytes in, bytes out; no sockets, no clock, no waiting.
class Handshake {
 public:
  enum class Role : std::uint8_t { opener, acceptor };
  enum class State : std::uint8_t {
    talking,   ///< give it bytes, send what it has
    deciding,  ///< acceptor only: the opener has proved itself; welcome() or refuse()
    done,      ///< both sides agree, once what is left of outgoing() has been sent
    failed,    ///< refusal() says why; what is left of outgoing() tells the other side
  };

  static constexpr std::size_t head_bytes = 12;
  static constexpr std::size_t hello_bytes = head_bytes + 60;
  static constexpr std::size_t proof_bytes = head_bytes + std::tuple_size_v<Proof>;
  static constexpr std::size_t most_words = 512;

  Handshake(Role role, const Hello& mine, std::string secret);

  State state() const noexcept { return state_; }
  /// How many bytes it can use now; never more than belong to the handshake.
  std::size_t wanted() const noexcept;
  /// Takes bytes from the other side. Returns how many belong to the handshake; those after them are the
  /// connection's.
  std::size_t feed(std::span<const std::byte> bytes);
  std::span<const std::byte> outgoing() const noexcept { return std::span(out_).subspan(sent_); }
  void sent(std::size_t bytes) noexcept { sent_ += bytes; }

  void welcome();
  void refuse(const Refusal& refusal);

  /// The other side's words; complete once it has said hello. To be believed when proven().
  const std::optional<Hello>& peer() const noexcept { return peer_; }
  bool proven() const noexcept { return proven_; }
  const Hello& mine() const noexcept { return mine_; }
  const Refusal& refusal() const noexcept { return refusal_; }
  /// The refusal came from the other side.
  bool refused_by_peer() const noexcept { return refused_by_peer_; }

 private:
  enum class Kind : std::uint8_t { hello = 1, proof = 2, verdict = 3 };
  struct Head {
    std::uint16_t version;
    Kind kind;
    std::uint16_t length;
  };

  void take_head();
  void take_body();
  void take_hello(std::span<const std::byte> frame);
  void take_proof(std::span<const std::byte> body);
  void take_verdict(std::span<const std::byte> body);
  void put_frame(Kind kind, std::span<const std::byte> body);
  void put_proof();
  void put_verdict(const Refusal& refusal);
  Proof proof_of(Role role) const;
  void fail(Why why, const std::string& text);
  void drop(const std::string& text);

  Role role_;
  Hello mine_;
  std::string secret_;
  State state_ = State::talking;
  Kind expected_ = Kind::hello;
  std::vector<std::byte> in_;  // the frame under way
  std::optional<Head> head_;   // of the frame under way
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;
  std::vector<std::byte> my_frame_;    // hello as sent
  std::vector<std::byte> peer_frame_;  // hello as received
  std::optional<Hello> peer_;
  bool proven_ = false;
  bool refused_by_peer_ = false;
  Refusal refusal_;
};

/// Moves what can be moved between a handshake and its connection without waiting.
enum class Turn : std::uint8_t {
  blocked,  ///< the connection can take or give nothing now
  waits,    ///< for welcome() or refuse()
  over,     ///< done or failed, and everything has been sent
  closed,   ///< the other side is gone
};
Turn drive(Handshake& handshake, net::Stream& stream);

}  // namespace rondo::control
