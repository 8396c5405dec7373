#include "transport/sim/pipe.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "transport/stream_fake.hpp"

namespace {

using rondo::base::Event;
using rondo::base::real_scheduler;
using rondo::net::Moved;
using rondo::transport::sim::Pipe;
using rondo::transport::sim::PipeStream;
using namespace rondo::transport::test;

struct Ends {
  explicit Ends(std::size_t capacity) : pipe(capacity, reader, writer) {}
  Event reader{real_scheduler()};
  Event writer{real_scheduler()};
  Pipe pipe;

  Bytes read(std::size_t most) {
    Bytes bytes(most);
    const Moved moved = pipe.read(bytes);
    EXPECT_EQ(moved.state == Moved::State::ok, moved.bytes > 0);
    bytes.resize(moved.bytes);
    return bytes;
  }
};

TEST(Pipe, rings_the_reader_for_bytes_and_the_writer_for_room_it_waits_for) {
  Ends ends(4);
  const std::uint32_t reader = ends.reader.ticket();
  const std::uint32_t writer = ends.writer.ticket();
  EXPECT_EQ(ends.pipe.write(piece(0, 4), {}).bytes, 4U);
  EXPECT_NE(ends.reader.ticket(), reader);
  EXPECT_EQ(ends.read(1).size(), 1U);
  EXPECT_EQ(ends.writer.ticket(), writer);  // nobody waits
  EXPECT_EQ(ends.pipe.write(piece(4, 1), {}).bytes, 1U);
  EXPECT_EQ(ends.pipe.write(piece(5, 1), {}).state, Moved::State::blocked);
  EXPECT_EQ(ends.writer.ticket(), writer);
  EXPECT_EQ(ends.read(1).size(), 1U);
  EXPECT_NE(ends.writer.ticket(), writer);
}

TEST(Pipe, a_closed_writer_is_seen_after_the_last_byte) {
  Ends ends(8);
  EXPECT_EQ(ends.pipe.write(piece(0, 5), {}).bytes, 5U);
  const std::uint32_t ticket = ends.reader.ticket();
  ends.pipe.close_writer();
  EXPECT_NE(ends.reader.ticket(), ticket);
  EXPECT_EQ(ends.read(3), piece(0, 3));
  EXPECT_EQ(ends.read(3), piece(3, 2));
  Bytes none(1);
  EXPECT_EQ(ends.pipe.read(none).state, Moved::State::closed);
  EXPECT_EQ(ends.pipe.read(none).state, Moved::State::closed);
}

TEST(Pipe, a_closed_reader_stops_the_writer) {
  Ends ends(8);
  EXPECT_EQ(ends.pipe.write(piece(0, 5), {}).bytes, 5U);
  const std::uint32_t ticket = ends.writer.ticket();
  ends.pipe.close_reader();
  EXPECT_NE(ends.writer.ticket(), ticket);
  EXPECT_EQ(ends.pipe.write(piece(5, 1), {}).state, Moved::State::closed);
}

TEST(PipeStream, closes_both_directions_when_it_goes_and_leaves_its_bytes_readable) {
  Event left_bell(real_scheduler());
  Event right_bell(real_scheduler());
  Pipe to_right(16, right_bell, left_bell);
  Pipe to_left(16, left_bell, right_bell);
  PipeStream right(to_right, to_left);
  {
    PipeStream left(to_left, to_right);
    EXPECT_EQ(right.writev(piece(90, 2), {}).bytes, 2U);
    Bytes got(9);
    EXPECT_EQ(left.read(got).bytes, 2U);
    EXPECT_EQ(left.writev(piece(0, 1), piece(1, 2)).bytes, 3U);
  }
  Bytes got(9);
  EXPECT_EQ(right.read(got).bytes, 3U);
  got.resize(3);
  EXPECT_EQ(got, piece(0, 3));
  EXPECT_EQ(right.read(got).state, Moved::State::closed);
  EXPECT_EQ(right.writev(piece(0, 1), {}).state, Moved::State::closed);
}

// The writer makes the ring's memory at its first byte, while the reader looks.
TEST(Pipe, the_first_byte_meets_a_reader_that_is_looking) {
  constexpr int rounds = 3000;
  std::vector<std::unique_ptr<Ends>> all;
  for (int i = 0; i < rounds; ++i) all.push_back(std::make_unique<Ends>(64));
  std::thread reader([&] {
    for (int i = 0; i < rounds; ++i) {
      std::byte got{0};
      while (all[static_cast<std::size_t>(i)]->pipe.read(std::span(&got, 1)).state != Moved::State::ok)
        continue;
      EXPECT_EQ(got, byte_at(static_cast<std::uint64_t>(i)));
    }
  });
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(all[static_cast<std::size_t>(i)]->pipe.write(piece(static_cast<std::uint64_t>(i), 1), {}).bytes,
              1U);
  }
  reader.join();
}

}  // namespace
