#pragma once
/// The header before every payload: fixed, little-endian, checked before it is believed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "rondo/dtype.hpp"
#include "rondo/view.hpp"

namespace rondo::transport {

enum class Lane : std::uint8_t { collective = 0, message = 1 };
inline constexpr int lane_count = 2;

/// What a frame is. Values are part of the protocol.
enum class FrameKind : std::uint8_t {
  // either lane
  skip = 0,     ///< stands in for a frame that was cancelled before its first byte
  goodbye = 1,  ///< the last frame of a rank that leaves in order
  // collective lane
  presence = 2,  ///< "I am in collective `number`", sent once by a rank that has waited long
  part = 4,      ///< part of a collective; the stamp fields say of which
  // message lane
  eager = 16,  ///< a message with its payload
  offer = 17,  ///< a message that waits for its receive; answered by exactly one of accept, refuse, gone
  accept = 18,
  refuse = 19,    ///< payload: why, in words
  withdraw = 20,  ///< the offer's sender gave up
  gone = 21,      ///< answer to withdraw: the offer had not been matched
  data = 22,      ///< payload of an accepted offer
  credit = 23,    ///< `count` bytes of eager messages have been matched
};

/// Verb of a collective, in stamps. Values are part of the protocol.
enum class Verb : std::uint8_t {
  none = 0,
  all_reduce,
  all_gather,
  all_gather_v,
  reduce_scatter,
  reduce_scatter_v,
  broadcast,
  reduce,
  gather,
  gather_v,
  scatter,
  scatter_v,
  all_to_all,
  all_to_all_v,
  barrier,
  split,
  plan,
};
std::string_view to_string(Verb verb) noexcept;
/// The name that users know: "all_sum" for all_reduce with sum, likewise all_max, all_min and sum_scatter.
std::string_view name_of(Verb verb, ReduceOp op) noexcept;

/// What a collective is, as far as all ranks must agree on it.
struct Stamp {
  std::uint64_t number = 0;  ///< of the collective in its group
  Verb verb = Verb::none;
  DType dtype = DType::uint8;
  ReduceOp op = ReduceOp::sum;
  std::int32_t root = -1;
  std::uint64_t count = 0;      ///< elements, as the verb counts them; 0 where ranks may differ
  std::uint64_t name_hash = 0;  ///< of the caller's name and of the counts of a v form; 0: neither

  friend bool operator==(const Stamp&, const Stamp&) = default;
};
/// "all_sum #12 (float32, 20 elements)".
std::string to_string(const Stamp& stamp);

/// Layout (bytes, little-endian): 0 magic "RD" | 2 version | 3 lane<<7 | kind | 4 verb | 5 op | 6 dtype | 7
/// dims | 8 sequence | 12 part | 16 number | 24 root or tag | 28 check | 32 count | 40 bytes | 48 name hash |
/// 56 payload hash; then `dims` extents of 8 bytes each. The check is a 32-bit hash over all of it, with the
/// check itself taken as 0.
struct Header {
  static constexpr std::size_t fixed_bytes = 64;
  static constexpr std::size_t max_bytes = fixed_bytes + 8 * max_dims;
  static constexpr std::uint8_t version = 1;

  Lane lane = Lane::collective;
  FrameKind kind = FrameKind::skip;
  Verb verb = Verb::none;
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::uint8;
  std::uint32_t sequence = 0;  ///< of the frame on its lane of its pair
  std::uint32_t part = 0;      ///< of the frame within its call and pair
  std::uint64_t number = 0;    ///< of the collective; of an offer
  std::int32_t root_or_tag = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< of the payload that follows
  std::uint64_t name_hash = 0;
  std::uint64_t payload_hash = 0;  ///< RONDO_CHECK=payload; otherwise 0
  detail::Dims dims;               ///< messages only

  friend bool operator==(const Header& a, const Header& b);
};

using HeaderBytes = std::array<std::byte, Header::max_bytes>;

/// Writes `header`; returns its length: fixed_bytes + 8 x dims.
std::size_t encode(const Header& header, HeaderBytes& out) noexcept;

/// Length of the header that begins with these fixed_bytes bytes, or nullopt when they begin none (magic,
/// version, dims).
std::optional<std::size_t> header_length(std::span<const std::byte> fixed) noexcept;

/// Reads a header of exactly header_length bytes. Throws Problem(disconnected) that says which field is
/// wrong: magic, version, an unknown value, a negative extent, the check.
Header decode(std::span<const std::byte> bytes);

/// A 64-bit hash of payload bytes, for Header::payload_hash; never 0.
std::uint64_t payload_hash(std::span<const std::byte> payload) noexcept;

}  // namespace rondo::transport
