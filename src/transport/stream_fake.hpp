#pragma once
/// Tests only: a stream of bytes of which each place can be told from its neighbours.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::transport::test {

using Bytes = std::vector<std::byte>;

/// Byte `index` of a stream in which no short piece repeats soon.
inline std::byte byte_at(std::uint64_t index) {
  return static_cast<std::byte>((index * 0x9e3779b97f4a7c15U) >> 56U);
}

/// `length` bytes of it.
inline Bytes piece(std::uint64_t from, std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = byte_at(from + i);
  return bytes;
}

}  // namespace rondo::transport::test
