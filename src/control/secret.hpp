#pragma once
/// What a job's secret proves, and numbers that nobody can guess.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

namespace rondo::control {

using Nonce = std::array<std::byte, 16>;
/// Which job a process belongs to; not a secret.
using JobId = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;

/// 16 random bytes from the system. Throws Problem(unavailable).
Nonce random_nonce();

/// HMAC-SHA256 (RFC 2104) over the secret's length and the parts, the length of each before it. An empty
/// secret is a key like any other: whoever has none gets the same result.
Proof prove(std::string_view secret, std::initializer_list<std::span<const std::byte>> parts);

/// Compares in a time that does not depend on where they differ.
bool same(const Proof& a, const Proof& b) noexcept;

}  // namespace rondo::control
