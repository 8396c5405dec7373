// Bytes of a stranger read as frames of a star and as files of a rendezvous. Whatever they are: either they
// are refused, or they are read and then encode to the same bytes; and nothing is kept that has not arrived.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "base/codec.hpp"
#include "rendezvous/file_record.hpp"
#include "rendezvous/star_frames.hpp"

namespace {

using namespace rondo::rendezvous;
using rondo::base::Problem;

void require(bool condition) {
  if (!condition) std::abort();
}

void read_frames(std::span<const std::byte> input, std::size_t piece) {
  StarReader reader;
  std::string again;
  std::size_t fed = 0;
  try {
    while (fed < input.size()) {
      const auto now = input.subspan(fed, std::min(piece, input.size() - fed));
      reader.feed(now);
      fed += now.size();
      while (const auto frame = reader.next()) {
        require(frame->words.size() <= most_blob_bytes && frame->rank >= -1);
        if (frame->kind == StarFrame::Kind::failed) {
          const Problem problem = problem_of(*frame);
          require(failed_frame(frame->exchange, problem).code == frame->code);
        }
        again += encode(*frame);
      }
      require(reader.kept() + again.size() == fed);
    }
  } catch (const Problem& problem) {
    require(problem.kind() == rondo::ErrorKind::disconnected);
  }
  require(again.size() <= input.size() &&
          std::string_view(again) ==
              std::string_view(reinterpret_cast<const char*>(input.data()), again.size()));
}

void read_record(const std::string& text, bool is_signed) {
  const rondo::control::JobId job{std::byte{1}};
  FileRecord record;
  switch (decode(text, job, "secret", record)) {
    case FileState::malformed:
      return;
    case FileState::unsigned_:
      require(!is_signed);
      return;
    case FileState::sound:
      require(encode(record, job, "secret") == text);
  }
}

/// The same with a good signature, so that what is behind it is reached.
void read_signed_record(std::string text) {
  constexpr std::size_t proof_bytes = std::tuple_size_v<rondo::control::Proof>;
  if (text.size() < proof_bytes) return;
  const rondo::control::JobId job{std::byte{1}};
  const auto bytes = std::as_writable_bytes(std::span(text));
  const auto proof = rondo::control::prove(
      "secret", {job, std::span<const std::byte>(bytes).first(bytes.size() - proof_bytes)});
  std::ranges::copy(proof, bytes.last(proof_bytes).begin());
  read_record(text, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{19}, std::max<std::size_t>(size, 1)})
    read_frames(input, piece);
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_record(text, false);
  read_signed_record(text);
  return 0;
}
