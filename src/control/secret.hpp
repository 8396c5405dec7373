#pragma once
/// What a job's secret proves, and numbers that nobody can guess.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "rondo/config.hpp"

namespace rondo::control {

using Nonce = std::array<std::byte, 16>;
/// Which job a process belongs to; not a secret.
using JobId = std::array<std::byte, 16>;
using Proof = std::array<std::byte, 32>;

/// Sets the cryptographic library up. What uses it at the end of the process must have been made after this.
void start_cryptography() noexcept;

/// 16 random bytes from the system. Throws Problem(unavailable).
Nonce random_nonce();

/// HMAC-SHA256 (RFC 2104) over the secret's length and the parts, the length of each before it. An empty
/// secret is a key like any other: whoever has none gets the same result.
Proof prove(std::string_view secret, std::initializer_list<std::span<const std::byte>> parts);

/// The job that meets at this rendezvous (RONDO_RENDEZVOUS as it was written).
JobId job_of(std::string_view rendezvous);

/// The secret that RONDO_SECRET_FD or RONDO_SECRET_FILE gives, without a newline at its end; empty when
/// neither is set. From a descriptor it is read at offset 0, so that it can be read again, and the descriptor
/// becomes close-on-exec. Throws Error(invalid_argument) that names the variable: not readable, empty, over
/// 4096 bytes, or a file that others than its owner may read or write.
std::string read_secret(const Config& config);

/// Compares in a time that does not depend on where they differ.
bool same(const Proof& a, const Proof& b) noexcept;

}  // namespace rondo::control
