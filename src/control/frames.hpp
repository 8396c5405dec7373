#pragma once
/// What processes of a job tell each other over their control connections.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rondo/error.hpp"

namespace rondo::control {

/// On the wire: kind (1 byte), length of the body (2, little-endian), body.
struct ControlFrame {
  enum class Kind : std::uint8_t {
    ended = 1,        ///< `group` has ended, with `cause`. Body: group (8), kind (1), rank (4), text
    leaving = 2,      ///< the sender leaves the job: its end is no loss. No body
    lost = 3,         ///< from the launcher: `cause.rank` is gone, and why. Body: rank (4), text
    wire_wanted = 4,  ///< please call me: the message wire of `group`. Body: group (8)
    left = 5,         ///< the sender leaves `group`, and has sent no message in it. Body: group (8)
  } kind = Kind::leaving;
  std::uint64_t group = 0;
  Failure cause;

  static constexpr std::size_t head_bytes = 3;
  static constexpr std::size_t most_text = 2048;

  friend bool operator==(const ControlFrame&, const ControlFrame&) = default;
};

/// Longer texts are cut, between characters (UTF-8).
std::vector<std::byte> encode(const ControlFrame& frame);

/// Cuts a stream of bytes into frames. Keeps no more than one frame that is not complete.
class ControlReader {
 public:
  void feed(std::span<const std::byte> bytes);
  /// The next frame that is there whole. Throws Problem(disconnected) when the bytes are no frames: nothing
  /// sensible follows.
  std::optional<ControlFrame> next();

 private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;  // where the next frame begins
};

}  // namespace rondo::control
