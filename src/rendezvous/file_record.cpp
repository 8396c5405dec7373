#include "rendezvous/file_record.hpp"

#include <algorithm>

#include "base/codec.hpp"
#include "rendezvous/star_frames.hpp"

namespace rondo::rendezvous {

namespace {

constexpr std::uint32_t magic = 0x656c6966;  // "file"
constexpr std::uint16_t version = 1;
constexpr std::size_t fixed_bytes = 4 + 2 + 2 + 4 + 4 + 4 + 4 + std::tuple_size_v<control::Nonce>;
constexpr std::size_t proof_bytes = std::tuple_size_v<control::Proof>;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

std::size_t most_file_bytes(int size) noexcept {
  return fixed_bytes + static_cast<std::size_t>(size) * std::tuple_size_v<control::Nonce> + most_blob_bytes +
         proof_bytes;
}

std::string encode(const FileRecord& record, const control::JobId& job, std::string_view secret) {
  const std::size_t content =
      fixed_bytes + record.seen.size() * std::tuple_size_v<control::Nonce> + record.blob.size();
  std::string text(content + proof_bytes, '\0');
  base::Writer writer(std::as_writable_bytes(std::span(text)));
  writer.put(magic);
  writer.put(version);
  writer.put(static_cast<std::uint16_t>(record.done ? 1 : 0));
  writer.put(record.exchange);
  writer.put(std::int32_t{record.rank});
  writer.put(static_cast<std::uint32_t>(record.seen.size()));
  writer.put(static_cast<std::uint32_t>(record.blob.size()));
  writer.put(record.nonce);
  for (const control::Nonce& each : record.seen) writer.put(each);
  writer.put(bytes_of(record.blob));
  writer.put(control::prove(secret, {job, bytes_of(text).first(content)}));
  return text;
}

FileState decode(std::string_view text, const control::JobId& job, std::string_view secret,
                 FileRecord& record) {
  base::Reader reader(bytes_of(text));
  if (text.size() < fixed_bytes + proof_bytes) return FileState::malformed;
  if (reader.get<std::uint32_t>() != magic || reader.get<std::uint16_t>() != version)
    return FileState::malformed;
  const auto flags = reader.get<std::uint16_t>();
  record.done = flags == 1;
  record.exchange = reader.get<std::uint32_t>();
  record.rank = reader.get<std::int32_t>();
  const std::uint64_t size = reader.get<std::uint32_t>();
  const std::uint64_t blob = reader.get<std::uint32_t>();
  std::ranges::copy(reader.bytes(record.nonce.size()), record.nonce.begin());
  const std::uint64_t content = size * record.nonce.size() + blob;
  if (flags > 1 || content + proof_bytes != reader.remaining()) return FileState::malformed;
  record.seen.resize(size);
  for (control::Nonce& each : record.seen) std::ranges::copy(reader.bytes(each.size()), each.begin());
  record.blob = text.substr(text.size() - proof_bytes - blob, blob);
  control::Proof proof;
  std::ranges::copy(bytes_of(text).last(proof_bytes), proof.begin());
  const auto expected = control::prove(secret, {job, bytes_of(text).first(text.size() - proof_bytes)});
  return control::same(proof, expected) ? FileState::sound : FileState::unsigned_;
}

}  // namespace rondo::rendezvous
