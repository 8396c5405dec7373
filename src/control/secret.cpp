#include "control/secret.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/codec.hpp"
#include "base/fd.hpp"
#include "base/problem.hpp"

namespace rondo::control {

namespace {

unsigned char* octets(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

[[noreturn]] void refuse(const std::string& setting, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, fmt::format("{}: {}", setting, why));
}

std::string read_from(int fd, const std::string& setting) {
  constexpr std::size_t most = 4096;
  std::string text(most + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = pread(fd, text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(setting, "the secret cannot be read from it: " + base::error_words(errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  if (have > most) refuse(setting, fmt::format("the secret has more than {} bytes", most));
  if (text.ends_with('\n')) text.pop_back();
  if (text.empty()) refuse(setting, "the secret is empty");
  return text;
}

}  // namespace

void start_cryptography() noexcept { (void)OPENSSL_init_crypto(0, nullptr); }

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

JobId job_of(std::string_view rendezvous) {
  const Proof digest = prove({}, {std::as_bytes(std::span(rendezvous))});
  JobId job;
  std::copy_n(digest.begin(), job.size(), job.begin());
  return job;
}

std::string read_secret(const Config& config) {
  if (config.secret_fd) {
    const std::string setting = fmt::format("RONDO_SECRET_FD={}", *config.secret_fd);
    std::string secret = read_from(*config.secret_fd, setting);
    (void)fcntl(*config.secret_fd, F_SETFD, FD_CLOEXEC);
    return secret;
  }
  if (config.secret_file.empty()) return {};
  const std::string setting = fmt::format("RONDO_SECRET_FILE=\"{}\"", config.secret_file);
  const base::Fd file(open(config.secret_file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || fstat(file.get(), &about) != 0)
    refuse(setting, "cannot be opened: " + base::error_words(errno));
  if ((about.st_mode & 0077U) != 0)
    refuse(setting,
           fmt::format("others may use it (mode {:o}); expected a file of its owner alone (mode 600)",
                       about.st_mode & 0777U));
  return read_from(file.get(), setting);
}

bool same(const Proof& a, const Proof& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace rondo::control
