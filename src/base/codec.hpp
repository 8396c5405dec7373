#pragma once
/// Little-endian numbers in a byte range of known length. Neither class ever touches a byte beyond it.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include "base/check.hpp"
#include "base/problem.hpp"

namespace rondo::base {

template <class T>
concept WireInteger = std::integral<T> && !std::same_as<T, bool>;

/// Fills a range from its begin. The caller sized the range, so too little room is a broken invariant.
class Writer {
 public:
  explicit Writer(std::span<std::byte> out) noexcept : out_(out) {}

  template <WireInteger T>
  void put(T value) noexcept {
    const std::span<std::byte> to = claim(sizeof(T));
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(bits >> (8 * i));
  }
  void put(std::span<const std::byte> bytes) noexcept {
    const std::span<std::byte> to = claim(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) to[i] = bytes[i];
  }

  std::size_t written() const noexcept { return at_; }

 private:
  std::span<std::byte> claim(std::size_t bytes) noexcept {
    RONDO_INVARIANT(bytes <= out_.size() - at_);
    const std::span<std::byte> place = out_.subspan(at_, bytes);
    at_ += bytes;
    return place;
  }

  std::span<std::byte> out_;
  std::size_t at_ = 0;
};

/// Reads a range that a peer sent. Asking for more than is left throws Problem(disconnected): whoever sent
/// this does not speak the protocol.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) noexcept : in_(in) {}

  template <WireInteger T>
  T get() {
    using Bits = std::make_unsigned_t<T>;
    const std::span<const std::byte> from = bytes(sizeof(T));
    Bits bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bits = static_cast<Bits>(bits | static_cast<Bits>(std::to_integer<Bits>(from[i]) << (8 * i)));
    return static_cast<T>(bits);
  }
  /// The next `count` bytes, in place.
  std::span<const std::byte> bytes(std::size_t count) {
    if (count > remaining())
      throw Problem(ErrorKind::disconnected, -1,
                    "malformed data: " + std::to_string(count) + " bytes expected, " +
                        std::to_string(remaining()) + " left");
    const std::span<const std::byte> place = in_.subspan(at_, count);
    at_ += count;
    return place;
  }

  std::size_t remaining() const noexcept { return in_.size() - at_; }

 private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

}  // namespace rondo::base
