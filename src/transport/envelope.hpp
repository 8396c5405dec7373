#pragma once
/// What a message is, apart from its bytes.

#include <string>

#include "rondo/call.hpp"
#include "transport/header.hpp"

namespace rondo::transport {

struct Envelope {
  int tag = 0;
  DType dtype = DType::uint8;
  detail::Dims dims;
  std::size_t bytes = 0;
};

/// "float32 [3] (12 bytes)".
std::string to_string(const Envelope& envelope);
/// Same type, shape and bytes; tags do not count.
bool agree(const Envelope& a, const Envelope& b) noexcept;
Envelope envelope_of(const Header& header);
MessageInfo info_of(int source, const Envelope& envelope);
/// True when the byte count is that of the shape.
bool consistent(const Envelope& envelope) noexcept;

/// What an eager message costs its sender's credit: its bytes and the room its envelope takes, so that even
/// empty messages are bounded in number.
inline std::size_t charge_of(std::size_t bytes) noexcept { return bytes + 128; }
/// A refusal's words are cut to this many bytes.
inline constexpr std::size_t most_words = 1024;

}  // namespace rondo::transport
