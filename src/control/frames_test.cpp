#include "control/frames.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/problem.hpp"

namespace rondo::control {
namespace {

using Kind = ControlFrame::Kind;

ControlFrame frame(Kind kind, std::uint64_t group, const Failure& cause = {}) { return {kind, group, cause}; }

std::vector<ControlFrame> samples() {
  return {
      frame(Kind::ended, 0x0102030405060708U, {ErrorKind::mismatch, 3, "rank 3 calls something else"}),
      frame(Kind::leaving, 0),
      frame(Kind::lost, 0, {Failure().kind, 7, "killed by signal 9"}),
      frame(Kind::wire_wanted, 77),
      frame(Kind::left, 78),
      frame(Kind::ended, 5, {ErrorKind::aborted, -1, ""}),
  };
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ControlFrames, come_back_as_they_went_in_pieces_of_any_size) {
  std::vector<std::byte> stream;
  for (const ControlFrame& each : samples()) {
    const auto bytes = encode(each);
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, stream.size()}) {
    ControlReader reader;
    std::vector<ControlFrame> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.feed(std::span<const std::byte>(stream).subspan(at, std::min(piece, stream.size() - at)));
      while (auto each = reader.next()) got.push_back(*each);
    }
    EXPECT_EQ(got, samples()) << "pieces of " << piece;
  }
}

TEST(ControlFrames, have_the_bytes_that_the_protocol_says) {
  EXPECT_EQ(encode(frame(Kind::left, 0x0203)), bytes_of({5, 8, 0, 3, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(encode(frame(Kind::lost, 0, {Failure().kind, 258, "no"})),
            bytes_of({3, 6, 0, 2, 1, 0, 0, 'n', 'o'}));
}

TEST(ControlFrames, long_texts_are_cut_between_characters) {
  const std::string umlauts = [] {
    std::string text = "x";
    while (text.size() < 3 * ControlFrame::most_text) text += "\xc3\xa4";
    return text;
  }();
  ControlReader reader;
  reader.feed(encode(frame(Kind::ended, 1, {ErrorKind::aborted, 0, umlauts})));
  const auto got = reader.next();
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->cause.text, umlauts.substr(0, ControlFrame::most_text - 1));
}

TEST(ControlFrames, what_is_none_is_refused_before_it_is_kept) {
  for (const auto& bytes : {
           bytes_of({0, 0, 0}), bytes_of({6, 0, 0}), bytes_of({255, 255, 255}),
           bytes_of({2, 1, 0}),                                            // leaving has no body
           bytes_of({5, 7, 0}),                                            // shorter than its group
           bytes_of({5, 9, 0}),                                            // longer
           bytes_of({1, 12, 0}),                                           // shorter than a cause
           bytes_of({1, 14, 8}),                                           // more text than allowed
           bytes_of({1, 13, 0, 1, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0}),  // no such failure
       }) {
    ControlReader reader;
    reader.feed(bytes);
    EXPECT_THROW((void)reader.next(), base::Problem);
  }
}

}  // namespace
}  // namespace rondo::control
