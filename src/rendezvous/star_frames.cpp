#include "rendezvous/star_frames.hpp"

#include <algorithm>
#include <utility>

#include "base/codec.hpp"

namespace rondo::rendezvous {

namespace {

constexpr std::uint32_t magic = 0x72617473;  // "star"
constexpr auto last_error_kind = static_cast<std::uint8_t>(ErrorKind::aborted);

[[noreturn]] void malformed(const std::string& what) {
  throw base::Problem(ErrorKind::disconnected, -1, "malformed frame of the rendezvous: " + what);
}

/// The frame without its words, and how many bytes of those follow.
std::pair<StarFrame, std::size_t> parse_head(std::string_view head) {
  base::Reader reader(std::as_bytes(std::span(head)));
  if (reader.get<std::uint32_t>() != magic) malformed("no frame begins here");
  StarFrame frame;
  const auto kind = reader.get<std::uint8_t>();
  frame.code = reader.get<std::uint8_t>();
  const auto zero = reader.get<std::uint16_t>();
  frame.exchange = reader.get<std::uint32_t>();
  frame.rank = reader.get<std::int32_t>();
  const std::size_t length = reader.get<std::uint32_t>();
  if (kind < static_cast<std::uint8_t>(StarFrame::Kind::blob) ||
      kind > static_cast<std::uint8_t>(StarFrame::Kind::leave) || zero != 0)
    malformed("unknown kind");
  frame.kind = static_cast<StarFrame::Kind>(kind);
  const bool failed = frame.kind == StarFrame::Kind::failed;
  if (failed ? frame.code > last_error_kind : frame.code != 0) malformed("unknown code");
  if (frame.rank < -1) malformed("no such rank");
  const std::size_t most = frame.kind == StarFrame::Kind::blob ? most_blob_bytes : StarFrame::most_words;
  if (length > most)
    malformed(std::to_string(length) + " bytes, at most " + std::to_string(most) + " are allowed");
  return {frame, length};
}

}  // namespace

std::string encode(const StarFrame& frame) {
  std::string text(StarFrame::head_bytes + frame.words.size(), '\0');
  base::Writer writer(std::as_writable_bytes(std::span(text)));
  writer.put(magic);
  writer.put(static_cast<std::uint8_t>(frame.kind));
  writer.put(frame.code);
  writer.put(std::uint16_t{0});
  writer.put(frame.exchange);
  writer.put(std::int32_t{frame.rank});
  writer.put(static_cast<std::uint32_t>(frame.words.size()));
  writer.put(std::as_bytes(std::span(frame.words)));
  return text;
}

StarFrame failed_frame(std::uint32_t exchange, const base::Problem& problem) {
  StarFrame frame;
  frame.kind = StarFrame::Kind::failed;
  frame.code = static_cast<std::uint8_t>(problem.kind());
  frame.exchange = exchange;
  frame.rank = std::max(problem.peer(), -1);
  frame.words = std::string(problem.what()).substr(0, StarFrame::most_words);
  return frame;
}

base::Problem problem_of(const StarFrame& failed) {
  return {static_cast<ErrorKind>(failed.code), failed.rank, failed.words};
}

void StarReader::feed(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t piece = std::min(bytes.size(), length_ - bytes_.size());
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), piece);
    bytes = bytes.subspan(piece);
    if (bytes_.size() == StarFrame::head_bytes) length_ = StarFrame::head_bytes + parse_head(bytes_).second;
    if (bytes_.size() < length_) continue;
    StarFrame frame = parse_head(bytes_).first;
    frame.words = bytes_.substr(StarFrame::head_bytes);
    frames_.push_back(std::move(frame));
    bytes_.clear();
    length_ = StarFrame::head_bytes;
  }
}

std::optional<StarFrame> StarReader::next() {
  if (frames_.empty()) return std::nullopt;
  StarFrame frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

}  // namespace rondo::rendezvous
