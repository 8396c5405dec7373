#include "control/frames.hpp"

#include <string>
#include <string_view>

#include "base/codec.hpp"
#include "base/problem.hpp"

namespace rondo::control {

namespace {

using Kind = ControlFrame::Kind;

constexpr std::size_t group_bytes = 8;
constexpr std::size_t rank_bytes = 4;
constexpr std::size_t ended_bytes = group_bytes + 1 + rank_bytes;

struct Shape {
  std::size_t fixed;  // bytes of the body before the text
  bool text;
};

Shape shape_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::ended:
      return {ended_bytes, true};
    case Kind::leaving:
      return {0, false};
    case Kind::lost:
      return {rank_bytes, true};
    case Kind::wire_wanted:
    case Kind::left:
      return {group_bytes, false};
  }
  return {0, false};
}

[[noreturn]] void malformed(const char* what) {
  throw base::Problem(ErrorKind::disconnected, -1, std::string("malformed control frame: ") + what);
}

std::string_view at_most(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

ControlFrame parse(Kind kind, std::span<const std::byte> body) {
  base::Reader reader(body);
  ControlFrame frame;
  frame.kind = kind;
  if (kind == Kind::ended || kind == Kind::wire_wanted || kind == Kind::left)
    frame.group = reader.get<std::uint64_t>();
  if (kind == Kind::ended) {
    const auto why = reader.get<std::uint8_t>();
    if (why > static_cast<std::uint8_t>(ErrorKind::aborted)) malformed("an unknown kind of failure");
    frame.cause.kind = static_cast<ErrorKind>(why);
  }
  const Shape shape = shape_of(kind);
  if (!shape.text) return frame;
  frame.cause.rank = reader.get<std::int32_t>();
  const auto text = body.subspan(shape.fixed);
  frame.cause.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return frame;
}

}  // namespace

std::vector<std::byte> encode(const ControlFrame& frame) {
  const Shape shape = shape_of(frame.kind);
  const std::string_view text = shape.text ? at_most(frame.cause.text, ControlFrame::most_text) : "";
  const std::size_t body = shape.fixed + text.size();
  std::vector<std::byte> bytes(ControlFrame::head_bytes + body);
  base::Writer writer(bytes);
  writer.put(static_cast<std::uint8_t>(frame.kind));
  writer.put(static_cast<std::uint16_t>(body));
  if (frame.kind != Kind::leaving && frame.kind != Kind::lost) writer.put(frame.group);
  if (frame.kind == Kind::ended) writer.put(static_cast<std::uint8_t>(frame.cause.kind));
  if (shape.text) {
    writer.put(static_cast<std::int32_t>(frame.cause.rank));
    writer.put(std::as_bytes(std::span(text.data(), text.size())));
  }
  return bytes;
}

void ControlReader::feed(std::span<const std::byte> bytes) {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::optional<ControlFrame> ControlReader::next() {
  const auto rest = std::span<const std::byte>(bytes_).subspan(at_);
  if (rest.size() < ControlFrame::head_bytes) return std::nullopt;
  base::Reader reader(rest);
  const auto kind = static_cast<Kind>(reader.get<std::uint8_t>());
  const std::size_t length = reader.get<std::uint16_t>();
  if (kind < Kind::ended || kind > Kind::left) malformed("an unknown kind");
  const Shape shape = shape_of(kind);
  const std::size_t most = shape.fixed + (shape.text ? ControlFrame::most_text : 0);
  if (length < shape.fixed || length > most) malformed("a length that its kind does not have");
  if (rest.size() < ControlFrame::head_bytes + length) return std::nullopt;
  at_ += ControlFrame::head_bytes + length;
  return parse(kind, rest.subspan(ControlFrame::head_bytes, length));
}

}  // namespace rondo::control
