#include "transport/byte_ring.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/scheduler.hpp"
#include "transport/stream_fake.hpp"

namespace {

using rondo::base::Event;
using rondo::base::real_scheduler;
using rondo::net::Moved;
using rondo::transport::ByteRing;
using rondo::transport::RingState;
using namespace rondo::transport::test;
using State = Moved::State;
using namespace std::chrono_literals;

enum class Against : bool { page_before, page_behind };

/// Memory of `bytes` bytes next to a page that nobody may touch, with or without a sanitizer.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes, Against side = Against::page_behind) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inside = (bytes + page - 1) / page * page;
    all_ = inside + 2 * page;
    base_ = mmap(nullptr, all_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) throw std::runtime_error("no memory");
    std::byte* const first = static_cast<std::byte*>(base_) + page;
    if (mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("no memory");
    data_ = side == Against::page_before ? first : first + inside - bytes;
  }
  ~Guarded() { munmap(base_, all_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  std::byte* data() const noexcept { return data_; }

 private:
  void* base_ = nullptr;
  std::size_t all_ = 0;
  std::byte* data_ = nullptr;
};

struct Ends {
  explicit Ends(std::size_t capacity, Against side = Against::page_behind)
      : memory(capacity, side), ring(state, memory.data(), capacity) {}
  Guarded memory;
  RingState state;
  ByteRing ring;

  Bytes read(std::size_t most) {
    Bytes bytes(most);
    const Moved moved = ring.read(bytes).moved;
    EXPECT_EQ(moved.state == State::ok, moved.bytes > 0);
    bytes.resize(moved.bytes);
    return bytes;
  }
  std::size_t write(const Bytes& first, const Bytes& second = {}) {
    const Moved moved = ring.write(first, second).moved;
    EXPECT_EQ(moved.state == State::ok, moved.bytes > 0);
    return moved.bytes;
  }
  State state_of_read() {
    Bytes one(1);
    return ring.read(one).moved.state;
  }
  State state_of_write() { return ring.write(piece(0, 1), {}).moved.state; }
};

TEST(ByteRing, holds_its_capacity_and_not_a_byte_more) {
  for (const std::size_t capacity : {2U, 10U, 4096U, 65536U}) {
    SCOPED_TRACE(capacity);
    Ends ends(capacity);
    EXPECT_EQ(ends.state_of_read(), State::blocked);
    EXPECT_EQ(ends.write(piece(0, capacity - 1)), capacity - 1);
    EXPECT_EQ(ends.write(piece(capacity - 1, 1), piece(capacity, 5)), 1U);
    EXPECT_EQ(ends.state_of_write(), State::blocked);
    EXPECT_EQ(ends.read(1), piece(0, 1));
    EXPECT_EQ(ends.write(piece(capacity, 3)), 1U);
    EXPECT_EQ(ends.state_of_write(), State::blocked);
    EXPECT_EQ(ends.read(capacity + 7), piece(1, capacity));
    EXPECT_EQ(ends.state_of_read(), State::blocked);
  }
}

TEST(ByteRing, wraps_at_every_offset_with_both_parts_of_a_write) {
  for (const Against side : {Against::page_before, Against::page_behind}) {
    for (std::size_t offset = 0; offset < 11; ++offset) {
      for (std::size_t split = 0; split <= 11; ++split) {
        Ends ends(11, side);
        if (offset > 0) {
          EXPECT_EQ(ends.write(piece(50, offset)), offset);
          EXPECT_EQ(ends.read(offset), piece(50, offset));
        }
        EXPECT_EQ(ends.write(piece(0, split), piece(split, 13 - split)), 11U);
        const std::size_t first = (offset + split) % 11;
        Bytes got = ends.read(first);
        const Bytes rest = ends.read(12);
        got.insert(got.end(), rest.begin(), rest.end());
        EXPECT_EQ(got, piece(0, 11)) << offset << ' ' << split;
      }
    }
  }
}

TEST(ByteRing, odd_pieces_round_and_round) {
  std::mt19937_64 random(3);
  for (const std::size_t capacity : {3U, 17U, 4097U}) {
    Ends ends(capacity);
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    while (out < 200 * capacity) {
      const std::size_t size = 1 + random() % (capacity + 3);
      const std::size_t split = random() % (size + 1);
      if (in - out < capacity) {
        const std::size_t room = capacity - (in - out);
        const std::size_t moved = ends.write(piece(in, split), piece(in + split, size - split));
        ASSERT_EQ(moved, std::min(size, room));
        in += moved;
      }
      const std::size_t most = 1 + random() % (capacity + 3);
      const Bytes got = ends.read(most);
      ASSERT_EQ(got, piece(out, std::min<std::size_t>(most, in - out)));
      out += got.size();
    }
  }
}

TEST(ByteRing, says_whom_to_wake) {
  Ends ends(4);
  Bytes one(1);
  EXPECT_TRUE(ends.ring.write(piece(0, 4), {}).wake);
  EXPECT_FALSE(ends.ring.read(one).wake);  // nobody waits for room
  EXPECT_TRUE(ends.ring.write(piece(4, 1), {}).wake);
  EXPECT_FALSE(ends.ring.write(piece(5, 1), {}).wake);  // full: nothing has moved
  EXPECT_TRUE(ends.ring.read(one).wake);
  EXPECT_FALSE(ends.ring.read(one).wake);  // told once
  Bytes rest(9);
  EXPECT_EQ(ends.ring.read(rest).moved.bytes, 2U);
  EXPECT_FALSE(ends.ring.read(rest).wake);  // empty
}

TEST(ByteRing, a_closed_writer_is_seen_after_the_last_byte) {
  Ends ends(8);
  EXPECT_EQ(ends.write(piece(0, 5)), 5U);
  ends.ring.close_writer();
  EXPECT_EQ(ends.read(3), piece(0, 3));
  EXPECT_EQ(ends.read(3), piece(3, 2));
  EXPECT_EQ(ends.state_of_read(), State::closed);
  EXPECT_EQ(ends.state_of_read(), State::closed);
  Ends never(8);
  never.ring.close_writer();
  EXPECT_EQ(never.state_of_read(), State::closed);
}

TEST(ByteRing, a_closed_reader_stops_the_writer_with_and_without_room) {
  for (const std::size_t written : {0U, 5U, 8U}) {
    Ends ends(8);
    if (written > 0) {
      EXPECT_EQ(ends.write(piece(0, written)), written);
    }
    ends.ring.close_reader();
    EXPECT_EQ(ends.state_of_write(), State::closed);
    EXPECT_EQ(ends.state.written, written);
  }
}

// --- counts that another process has set -------------------------------------------------------------------

TEST(ByteRing, counts_that_make_no_sense_count_as_closed) {
  constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  for (const std::size_t capacity : {13U, 4096U}) {
    const std::vector<std::uint64_t> counts{0,
                                            1,
                                            capacity - 1,
                                            capacity,
                                            capacity + 1,
                                            1ULL << 32U,
                                            (1ULL << 32U) + capacity,
                                            top >> 1,

                                            (top >> 1U) + 2000,
                                            top - capacity,
                                            top - 1,
                                            top};
    for (const Against side : {Against::page_before, Against::page_behind}) {
      for (const std::uint64_t written : counts) {
        for (const std::uint64_t read : counts) {
          Ends ends(capacity, side);
          ends.state.written = written;
          ends.state.read = read;
          const std::uint64_t there = written - read;
          Bytes memory(capacity + 1);
          const ByteRing::Result in = ends.ring.read(memory);
          EXPECT_EQ(in.moved.bytes, there <= capacity ? there : 0) << written << ' ' << read;
          EXPECT_EQ(in.moved.state == State::closed, there > capacity) << written << ' ' << read;
          ends.state.read = read;
          const ByteRing::Result out = ends.ring.write(piece(0, capacity), piece(capacity, 9));
          EXPECT_EQ(out.moved.bytes, there <= capacity ? capacity - there : 0) << written << ' ' << read;
          EXPECT_EQ(out.moved.state == State::closed, there > capacity) << written << ' ' << read;
          if (there > capacity) {
            EXPECT_EQ(ends.state.written, written);
            EXPECT_EQ(ends.state.read, read);
            EXPECT_FALSE(in.wake || out.wake);
          }
        }
      }
    }
  }
}

/// Sets the counts anywhere, over and over, while `work` runs.
template <class Work>
void while_counts_jump(RingState& state, std::size_t capacity, Work&& work) {
  std::atomic<bool> over{false};
  std::thread hostile([&] {
    std::mt19937_64 random(5);
    while (!over.load(std::memory_order_relaxed)) {
      const std::uint64_t at = random();
      state.written = random() % 2 == 0 ? at + random() % (2 * capacity) : random();
      state.read = at;
    }
  });
  work();
  over = true;
  hostile.join();
}

TEST(ByteRing, counts_that_jump_while_one_writes_or_reads_lead_nowhere) {
  for (const Against side : {Against::page_before, Against::page_behind}) {
    Ends ends(37, side);
    const Bytes first = piece(0, 20);
    const Bytes second = piece(20, 30);
    while_counts_jump(ends.state, 37, [&] {
      for (int i = 0; i < 100'000; ++i) {
        const Moved moved = ends.ring.write(first, second).moved;
        ASSERT_LE(moved.bytes, 37U);
      }
    });
    Bytes got(50);
    while_counts_jump(ends.state, 37, [&] {
      for (int i = 0; i < 100'000; ++i) {
        const Moved moved = ends.ring.read(got).moved;
        ASSERT_LE(moved.bytes, 37U);
      }
    });
  }
}

// --- two threads -------------------------------------------------------------------------------------------

/// Looks, and goes to sleep as whoever waits on shared memory does: announced, after one more look. False
/// when it was never woken.
template <class Try>
bool wait_for(Event& mine, Try&& attempt) {
  if (attempt()) return true;
  bool met = false;
  bool in_time = true;
  mine.announce();
  while (!met && in_time) {
    const std::uint32_t ticket = mine.ticket();
    met = attempt();
    if (!met) in_time = mine.wait(ticket, real_scheduler().now() + 30s);
  }
  mine.renounce();
  return met;
}

struct Course {
  std::size_t capacity;
  std::uint64_t length;
};

class TwoThreads : public testing::TestWithParam<Course> {};
INSTANTIATE_TEST_SUITE_P(ByteRing, TwoThreads,
                         testing::Values(Course{1, 20'000}, Course{7, 200'000}, Course{4099, 3U << 20U},
                                         Course{65'537, 6U << 20U},
                                         Course{std::size_t{1} << 18U, 12U << 20U}),
                         [](const auto& each) { return "capacity_" + std::to_string(each.param.capacity); });

// Every byte arrives once, in order, and neither side sleeps through a change.
TEST_P(TwoThreads, move_pieces_of_every_size) {
  const auto [capacity, length] = GetParam();
  Ends ends(capacity);
  Event reader_bell(real_scheduler());
  Event writer_bell(real_scheduler());
  bool writer_woke = true;
  std::thread writer([&, capacity = capacity, length = length] {
    std::mt19937_64 random(capacity);
    std::uint64_t at = 0;
    while (at < length && writer_woke) {
      const std::size_t size = std::min<std::uint64_t>(1 + random() % (2 * capacity), length - at);
      const std::size_t split = random() % (size + 1);
      const Bytes first = piece(at, split);
      const Bytes second = piece(at + split, size - split);
      writer_woke = wait_for(writer_bell, [&] {
        const ByteRing::Result result = ends.ring.write(first, second);
        at += result.moved.bytes;
        if (result.wake) reader_bell.nudge();
        return result.moved.state != State::blocked;
      });
    }
    ends.ring.close_writer();
    reader_bell.nudge();
  });
  std::mt19937_64 random(capacity + 1);
  std::uint64_t at = 0;
  std::uint64_t wrong = 0;
  bool over = false;
  bool reader_woke = true;
  while (!over && reader_woke) {
    Bytes bytes(1 + random() % (2 * capacity));
    reader_woke = wait_for(reader_bell, [&] {
      const ByteRing::Result result = ends.ring.read(bytes);
      if (result.wake) writer_bell.nudge();
      over = result.moved.state == State::closed;
      for (std::size_t i = 0; i < result.moved.bytes; ++i) wrong += bytes[i] != byte_at(at + i) ? 1U : 0U;
      at += result.moved.bytes;
      return result.moved.state != State::blocked;
    });
  }
  writer.join();
  EXPECT_TRUE(writer_woke);
  EXPECT_TRUE(reader_woke);
  EXPECT_EQ(at, length);
  EXPECT_EQ(wrong, 0U);
}

TEST(ByteRing, a_sleeping_writer_hears_that_the_reader_closes) {
  for (int round = 0; round < 500; ++round) {
    Ends ends(4);
    Event bell(real_scheduler());
    EXPECT_EQ(ends.write(piece(0, 4)), 4U);
    State last = State::ok;
    std::thread writer([&] {
      EXPECT_TRUE(wait_for(bell, [&] { return (last = ends.state_of_write()) != State::blocked; }));
    });
    if (round % 2 == 0) std::this_thread::yield();
    ends.ring.close_reader();
    bell.nudge();
    writer.join();
    ASSERT_EQ(last, State::closed);
  }
}

}  // namespace
