#include "control/secret.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <string>
#include <vector>

#include "base/codec.hpp"
#include "base/problem.hpp"

namespace rondo::control {

namespace {

unsigned char* octets(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

Nonce random_nonce() {
  Nonce nonce;
  if (RAND_bytes(octets(nonce.data()), static_cast<int>(nonce.size())) != 1)
    throw base::Problem(ErrorKind::unavailable, -1, "the system has no random numbers");
  return nonce;
}

Proof prove(std::string_view secret, std::initializer_list<std::span<const std::byte>> parts) {
  std::size_t total = sizeof(std::uint64_t);
  for (const auto part : parts) total += sizeof(std::uint64_t) + part.size();
  std::vector<std::byte> text(total);
  base::Writer writer(text);
  writer.put(std::uint64_t{secret.size()});  // HMAC takes a key and the same with zeros after it for one
  for (const auto part : parts) {
    writer.put(std::uint64_t{part.size()});
    writer.put(part);
  }
  Proof proof;
  unsigned int length = 0;
  const char* key = secret.empty() ? "" : secret.data();  // never null, which would mean "the last key"
  const auto* made = HMAC(EVP_sha256(), key, static_cast<int>(secret.size()), octets(text.data()),
                          text.size(), octets(proof.data()), &length);
  if (made == nullptr || length != proof.size())
    throw base::Problem(ErrorKind::unavailable, -1, "the cryptographic library has no HMAC-SHA256");
  return proof;
}

bool same(const Proof& a, const Proof& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace rondo::control
