#pragma once
/// What the two ends of a star say to each other once their handshake is over.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "base/problem.hpp"
#include "rendezvous/rendezvous.hpp"

namespace rondo::rendezvous {

/// The largest blob that an exchange takes.
inline constexpr std::size_t most_blob_bytes = std::size_t{1} << 20U;

struct StarFrame {
  enum class Kind : std::uint8_t {
    blob = 1,  ///< to the server: the sender's own; from it: that of `rank`; words are the bytes
    roll,      ///< from the server: who is there and who is missing, in words
    failed,    ///< from the server: the exchange is over; rank: whom it is about, or -1; code: the kind
    leave,     ///< to the server: the sender's limit ran out
  } kind = Kind::blob;
  std::uint8_t code = 0;  ///< failed: an ErrorKind
  std::uint32_t exchange = 0;
  int rank = -1;
  std::string words;

  static constexpr std::size_t head_bytes = 20;
  static constexpr std::size_t most_words = 1024;

  friend bool operator==(const StarFrame&, const StarFrame&) = default;
};

std::string encode(const StarFrame& frame);

/// A failed frame, of a problem; and back.
StarFrame failed_frame(std::uint32_t exchange, const base::Problem& problem);
base::Problem problem_of(const StarFrame& failed);

/// Cuts a stream of bytes into frames. A length is checked before anything is kept, and memory grows with
/// what has arrived.
class StarReader {
 public:
  /// Throws Problem(disconnected) when the bytes are no frames.
  void feed(std::span<const std::byte> bytes);
  std::optional<StarFrame> next();
  /// Bytes of a frame that is not complete.
  std::size_t kept() const noexcept { return bytes_.size(); }

 private:
  std::string bytes_;  // of the frame under way, with its head
  std::size_t length_ = StarFrame::head_bytes;
  std::deque<StarFrame> frames_;
};

}  // namespace rondo::rendezvous
