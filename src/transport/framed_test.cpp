#include "transport/framed.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "transport/sim/pipe.hpp"

namespace {

using namespace rondo::transport;
using rondo::ErrorKind;
using rondo::Failure;
using rondo::base::Event;
using rondo::base::real_scheduler;
using sim::Pipe;
using sim::PipeStream;
using Bytes = std::vector<std::byte>;

/// Payload number `salt`: its bytes are a function of the salt and the place.
Bytes payload_of(std::uint64_t salt, std::size_t length) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<std::byte>(((salt * 7919 + i) * 0x9e3779b97f4a7c15U) >> 56U);
  }
  return bytes;
}

/// Wires of one rank, which keep the first cause of a failure to themselves, and write down which wires they
/// want and which they leave without having had.
class Wires final : public FramedTransport {
 public:
  Wires(int rank, Streams streams) : FramedTransport(rank, std::move(streams)) {}
  ~Wires() override { close(); }

  rondo::Backend kind() const noexcept override { return rondo::Backend::sim; }
  void fail(const Failure& cause) override {
    if (!failure_) failure_ = cause;
  }
  bool failed() const noexcept override { return failure_.has_value(); }
  std::optional<Failure> failure() const override { return failure_; }
  std::unique_ptr<Transport> sub(const GroupId&, std::span<const int>) override { return nullptr; }

  using FramedTransport::has_departed;
  using FramedTransport::left_unmade;
  using FramedTransport::made;
  using FramedTransport::not_made;
  std::vector<std::pair<int, Lane>> wanted;
  std::vector<std::pair<int, Lane>> left;

 private:
  void want(int peer, Lane lane) override { wanted.emplace_back(peer, lane); }
  void leave_unmade(int peer, Lane lane) override { left.emplace_back(peer, lane); }

  std::optional<Failure> failure_;
};

struct Arrived {
  FrameKind kind;
  std::uint32_t sequence;
  std::uint64_t number;
  Bytes payload;
};

/// Takes every frame into memory of its own, unless `verdict` says otherwise.
class Inbox final : public Receiver {
 public:
  using Verdict = Landing::Verdict;

  Landing arriving(int, const Header& header) override {
    ++asked;
    const Verdict said = verdict ? verdict(header) : Verdict::take;
    if (said != Verdict::take) return {said, {}};
    memory.assign(header.bytes, std::byte{0xee});
    return {said, memory};
  }
  void arrived(int, const Header& header) override {
    frames.push_back({header.kind, header.sequence, header.number, memory});
    memory.clear();
  }
  void departed(int peer) override { left.push_back(peer); }

  std::function<Verdict(const Header&)> verdict;
  Bytes memory;
  std::deque<Arrived> frames;
  std::vector<int> left;
  int asked = 0;
};

/// Ranks 0 and 1 and the pipes between them.
class Pair {
 public:
  explicit Pair(std::size_t capacity, bool messages_from_the_start = true) {
    for (int to = 0; to < 2; ++to) {
      for (int lane = 0; lane < lane_count; ++lane) pipes_.emplace_back(capacity, bell_, bell_);
    }
    for (int rank = 0; rank < 2; ++rank) {
      FramedTransport::Streams streams(2);
      for (int lane = 0; lane < (messages_from_the_start ? lane_count : 1); ++lane) {
        streams[static_cast<std::size_t>(1 - rank)][static_cast<std::size_t>(lane)] = stream(rank, lane);
      }
      wires_.push_back(std::make_unique<Wires>(rank, std::move(streams)));
      for (int lane = 0; lane < lane_count; ++lane) {
        wires_.back()->attach(static_cast<Lane>(lane), inbox(rank, static_cast<Lane>(lane)));
      }
    }
  }

  std::unique_ptr<rondo::net::Stream> stream(int rank, int lane) {
    return std::make_unique<PipeStream>(pipe(rank, lane), pipe(1 - rank, lane));
  }
  /// The message wire is there at `rank`.
  void make(int rank) { wires(rank).made(1 - rank, Lane::message, stream(rank, 1)); }
  Wires& wires(int rank) { return *wires_[static_cast<std::size_t>(rank)]; }
  Inbox& inbox(int rank, Lane lane) {
    return inboxes_[static_cast<std::size_t>(rank * lane_count + static_cast<int>(lane))];
  }
  /// What rank `to` reads on a lane, for who writes there by hand.
  Pipe& pipe(int to, int lane) { return pipes_[static_cast<std::size_t>(to * lane_count + lane)]; }
  Event& bell() { return bell_; }
  void close(int rank) { wires_[static_cast<std::size_t>(rank)].reset(); }

  /// Until nothing moves any more; a frame that waits for a verdict does not move.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& each : wires_) moved = (each && each->poll()) || moved;
    }
  }

 private:
  Event bell_{real_scheduler()};
  std::deque<Pipe> pipes_;
  std::array<Inbox, 2 * lane_count> inboxes_;
  std::vector<std::unique_ptr<Wires>> wires_;
};

Header header_of(Lane lane, std::uint32_t sequence, std::uint64_t number, std::size_t bytes) {
  Header header;
  header.lane = lane;
  header.kind = lane == Lane::message ? FrameKind::eager : FrameKind::part;
  header.sequence = sequence;
  header.number = number;
  header.bytes = bytes;
  return header;
}

/// A frame from rank 0 to rank 1 with payload_of(number, length), owned by the test.
struct Frame {
  Frame(Lane lane, std::uint32_t sequence, std::uint64_t number, std::size_t length)
      : payload(payload_of(number, length)) {
    out.peer = 1;
    out.lane = lane;
    out.head_bytes = encode(header_of(lane, sequence, number, length), out.head);
    out.payload = payload;
  }
  Bytes payload;
  Outgoing out;
};

void write_all(Pipe& pipe, const Bytes& bytes) { ASSERT_EQ(pipe.write(bytes, {}).bytes, bytes.size()); }

Bytes encoded(const Header& header) {
  HeaderBytes bytes{};
  const std::size_t length = encode(header, bytes);
  return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
}

TEST(Framed, frames_of_every_size_on_both_lanes_through_tiny_pipes) {
  for (const std::size_t capacity : {1U, 3U, 63U, 64U, 65U, 1000U}) {
    Pair pair(capacity);
    std::mt19937_64 random(capacity);
    std::deque<Frame> frames;
    std::array<std::uint32_t, lane_count> sequence{};
    for (std::uint64_t number = 0; number < 60; ++number) {
      const auto lane = static_cast<Lane>(random() % 2);
      const std::size_t length = number % 4 == 0 ? 0 : random() % 500;
      frames.emplace_back(lane, sequence[static_cast<std::size_t>(lane)]++, number, length);
      pair.wires(0).post(frames.back().out);
    }
    EXPECT_FALSE(pair.wires(0).flushed());
    pair.settle();
    EXPECT_TRUE(pair.wires(0).flushed());
    for (const Frame& frame : frames) {
      EXPECT_EQ(frame.out.state, Outgoing::State::done);
      Inbox& inbox = pair.inbox(1, frame.out.lane);
      ASSERT_FALSE(inbox.frames.empty());
      EXPECT_EQ(inbox.frames.front().payload, frame.payload);
      EXPECT_EQ(inbox.frames.front().number, decode(std::span(frame.out.head).first(64)).number);
      inbox.frames.pop_front();
    }
    EXPECT_TRUE(pair.inbox(1, Lane::collective).frames.empty());
    EXPECT_TRUE(pair.inbox(1, Lane::message).frames.empty());
    EXPECT_FALSE(pair.wires(1).failed());
  }
}

TEST(Framed, later_holds_its_lane_and_not_the_other) {
  Pair pair(100000);
  bool ready = false;
  Inbox& collective = pair.inbox(1, Lane::collective);
  collective.verdict = [&](const Header&) { return ready ? Inbox::Verdict::take : Inbox::Verdict::later; };
  Frame first(Lane::collective, 0, 1, 30);
  Frame second(Lane::collective, 1, 2, 0);
  Frame message(Lane::message, 0, 3, 20);
  for (Frame* each : {&first, &second, &message}) pair.wires(0).post(each->out);
  pair.settle();
  EXPECT_TRUE(collective.frames.empty());
  ASSERT_EQ(pair.inbox(1, Lane::message).frames.size(), 1U);
  const int asked = collective.asked;
  EXPECT_FALSE(pair.wires(1).poll());  // asked again, and nothing has moved
  EXPECT_EQ(collective.asked, asked + 1);
  ready = true;
  EXPECT_TRUE(pair.wires(1).poll(0, Lane::collective));
  ASSERT_EQ(collective.frames.size(), 2U);
  EXPECT_EQ(collective.frames[0].payload, first.payload);
  EXPECT_EQ(collective.frames[1].number, 2U);
}

TEST(Framed, drained_frames_are_told_and_the_next_one_is_whole) {
  Pair pair(50);
  Inbox& inbox = pair.inbox(1, Lane::message);
  inbox.verdict = [&](const Header& header) {
    return header.number == 1 ? Inbox::Verdict::drain : Inbox::Verdict::take;
  };
  Frame unwanted(Lane::message, 0, 1, 10000);
  Frame wanted(Lane::message, 1, 2, 333);
  pair.wires(0).post(unwanted.out);
  pair.wires(0).post(wanted.out);
  pair.settle();
  ASSERT_EQ(inbox.frames.size(), 2U);
  EXPECT_EQ(inbox.frames[0].number, 1U);
  EXPECT_EQ(inbox.frames[0].payload, Bytes());
  EXPECT_EQ(inbox.frames[1].payload, wanted.payload);
}

TEST(Framed, memory_taken_back_in_the_middle_is_not_touched_again) {
  Pair pair(40);
  Inbox& inbox = pair.inbox(1, Lane::message);
  Frame first(Lane::message, 0, 1, 500);
  Frame second(Lane::message, 1, 2, 77);
  pair.wires(0).post(first.out);
  pair.wires(0).post(second.out);
  for (int i = 0; i < 6; ++i) {  // some of the payload
    pair.wires(1).poll();
    pair.wires(0).poll();
  }
  ASSERT_EQ(inbox.asked, 1);
  ASSERT_TRUE(inbox.frames.empty());
  ASSERT_EQ(inbox.memory[0], first.payload[0]);
  pair.wires(1).drain(0, Lane::message);
  inbox.memory.assign(500, std::byte{0x55});
  const Bytes untouched = inbox.memory;
  inbox.verdict = [&](const Header& header) {
    EXPECT_EQ(header.number, 2U);
    return Inbox::Verdict::take;
  };
  while (inbox.frames.empty()) ASSERT_TRUE(pair.wires(1).poll() || pair.wires(0).poll());
  EXPECT_EQ(inbox.frames[0].payload, untouched);
  pair.settle();
  ASSERT_EQ(inbox.frames.size(), 2U);
  EXPECT_EQ(inbox.frames[1].payload, second.payload);
}

TEST(Framed, cancelled_before_its_first_byte_a_frame_leaves_a_skip) {
  Pair pair(64);
  std::deque<Frame> frames;
  for (std::uint32_t i = 0; i < 4; ++i) frames.emplace_back(Lane::message, i, 10 + i, 100);
  for (Frame& each : frames) pair.wires(0).post(each.out);
  EXPECT_TRUE(pair.wires(0).cancel(frames[3].out));  // the last
  EXPECT_TRUE(pair.wires(0).cancel(frames[1].out));  // in between
  EXPECT_EQ(frames[1].out.state, Outgoing::State::failed);
  EXPECT_FALSE(pair.wires(0).cancel(frames[1].out));
  frames[1].payload.assign(100, std::byte{0});  // the caller's again
  frames[3].payload.assign(100, std::byte{0});
  frames.emplace_back(Lane::message, 4, 14, 5);  // behind the skip that is last now
  pair.wires(0).post(frames.back().out);
  pair.settle();
  EXPECT_FALSE(pair.wires(1).failed());
  const auto& got = pair.inbox(1, Lane::message).frames;
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].number, 10U);
  EXPECT_EQ(got[0].payload, frames[0].payload);
  EXPECT_EQ(got[1].sequence, 2U);
  EXPECT_EQ(got[1].payload, frames[2].payload);
  EXPECT_EQ(got[2].number, 14U);
}

TEST(Framed, cancelled_at_any_byte_a_frame_is_finished_from_a_copy) {
  // With pipes of `begun` bytes exactly so many have left when the cancel comes, in the header or the
  // payload.
  for (const std::size_t begun : {1U, 63U, 64U, 65U, 100U, 163U}) {
    Pair pair(begun);
    Frame frame(Lane::collective, 0, 8, 100);
    Frame next(Lane::collective, 1, 9, 30);
    const Bytes expected = frame.payload;
    pair.wires(0).post(frame.out);
    ASSERT_EQ(frame.out.state, Outgoing::State::moving);
    pair.wires(0).post(next.out);
    EXPECT_FALSE(pair.wires(0).cancel(frame.out));
    frame.payload.assign(100, std::byte{0});
    frame.out.head.fill(std::byte{0});
    pair.settle();
    const auto& got = pair.inbox(1, Lane::collective).frames;
    ASSERT_EQ(got.size(), 2U) << begun;
    EXPECT_EQ(got[0].payload, expected);
    EXPECT_EQ(got[1].payload, next.payload);
  }
}

TEST(Framed, a_frame_that_has_left_cannot_be_cancelled) {
  Pair pair(1000);
  Frame frame(Lane::message, 0, 1, 10);
  pair.wires(0).post(frame.out);
  EXPECT_EQ(frame.out.state, Outgoing::State::done);
  EXPECT_FALSE(pair.wires(0).cancel(frame.out));
  EXPECT_EQ(frame.out.state, Outgoing::State::done);
}

TEST(Framed, owned_frames_outlive_their_maker) {
  Pair pair(30);
  {
    const Bytes payload = payload_of(3, 90);
    pair.wires(0).post(*make_owned(1, Lane::message, header_of(Lane::message, 0, 3, 90), payload));
  }
  pair.settle();
  ASSERT_EQ(pair.inbox(1, Lane::message).frames.size(), 1U);
  EXPECT_EQ(pair.inbox(1, Lane::message).frames[0].payload, payload_of(3, 90));
}

void expect_failure(Pair& pair, const std::string& text) {
  pair.settle();
  ASSERT_TRUE(pair.wires(1).failed());
  const Failure failure = *pair.wires(1).failure();
  EXPECT_EQ(failure.kind, ErrorKind::disconnected);
  EXPECT_EQ(failure.rank, 0);
  EXPECT_NE(failure.text.find(text), std::string::npos) << failure.text;
}

TEST(Framed, a_lost_frame_ends_the_group) {
  Pair pair(1000);
  Frame first(Lane::message, 0, 1, 5);
  Frame third(Lane::message, 2, 3, 5);
  pair.wires(0).post(first.out);
  pair.wires(0).post(third.out);
  expect_failure(pair, "frame 1 from rank 0 was lost or repeated: frame 2 arrived");
  EXPECT_EQ(pair.inbox(1, Lane::message).frames.size(), 1U);
}

TEST(Framed, a_repeated_frame_ends_the_group) {
  Pair pair(1000);
  Frame first(Lane::collective, 0, 1, 5);
  Frame again(Lane::collective, 0, 1, 5);
  pair.wires(0).post(first.out);
  pair.wires(0).post(again.out);
  expect_failure(pair, "frame 1 from rank 0 was lost or repeated: frame 0 arrived");
  EXPECT_EQ(pair.inbox(1, Lane::collective).frames.size(), 1U);
}

TEST(Framed, a_frame_of_the_other_lane_ends_the_group) {
  Pair pair(1000);
  write_all(pair.pipe(1, static_cast<int>(Lane::message)), encoded(header_of(Lane::collective, 0, 1, 0)));
  expect_failure(pair, "a frame of the other lane arrived from rank 0");
}

TEST(Framed, garbage_ends_the_group) {
  Pair pair(1000);
  write_all(pair.pipe(1, 0), payload_of(1, 64));
  expect_failure(pair, "from rank 0, a corrupt frame header arrived: it does not begin with RD");
}

TEST(Framed, another_version_ends_the_group) {
  Pair pair(1000);
  Bytes bytes = encoded(header_of(Lane::collective, 0, 1, 0));
  bytes[2] = std::byte{7};
  write_all(pair.pipe(1, 0), bytes);
  expect_failure(pair, "version 7");
}

TEST(Framed, a_turned_bit_of_a_header_ends_the_group) {
  Pair pair(1000);
  Bytes bytes = encoded(header_of(Lane::collective, 0, 1, 3));
  bytes[40] ^= std::byte{0x10};  // of the length
  write_all(pair.pipe(1, 0), bytes);
  expect_failure(pair, "its check does not match");
  EXPECT_EQ(pair.inbox(1, Lane::collective).asked, 0);
}

TEST(Framed, an_end_without_goodbye_ends_the_group) {
  for (const bool within_a_frame : {false, true}) {
    Pair pair(1000);
    if (within_a_frame) {
      write_all(pair.pipe(1, 0), encoded(header_of(Lane::collective, 0, 1, 50)));
      write_all(pair.pipe(1, 0), payload_of(1, 49));
    }
    pair.close(0);
    expect_failure(pair, "rank 0 closed the connection");
    EXPECT_TRUE(pair.inbox(1, Lane::collective).frames.empty());
    EXPECT_TRUE(pair.inbox(1, Lane::collective).left.empty());
    Header late = header_of(Lane::collective, 0, 1, 0);
    pair.wires(1).post(*make_owned(0, Lane::collective, late, {}));  // fails by itself, and is freed
    EXPECT_TRUE(pair.wires(1).flushed());
  }
}

TEST(Framed, an_end_after_goodbyes_is_in_order) {
  Pair pair(1000);
  for (int lane = 0; lane < lane_count; ++lane) {
    Frame last(static_cast<Lane>(lane), 0, 1, 9);
    pair.wires(0).post(last.out);
    Header goodbye = header_of(static_cast<Lane>(lane), 1, 0, 0);
    goodbye.kind = FrameKind::goodbye;
    pair.wires(0).post(*make_owned(1, static_cast<Lane>(lane), goodbye, {}));
  }
  pair.close(0);
  pair.settle();
  EXPECT_FALSE(pair.wires(1).failed());
  for (int lane = 0; lane < lane_count; ++lane) {
    Inbox& inbox = pair.inbox(1, static_cast<Lane>(lane));
    EXPECT_EQ(inbox.frames.size(), 1U);
    EXPECT_EQ(inbox.left, std::vector<int>{0});
  }
}

TEST(Framed, what_is_queued_for_a_closed_wire_fails) {
  Pair pair(10);
  Frame first(Lane::message, 0, 1, 50);
  Frame second(Lane::message, 1, 2, 5);
  pair.wires(0).post(first.out);
  pair.wires(0).post(second.out);
  pair.close(1);
  pair.settle();
  EXPECT_EQ(first.out.state, Outgoing::State::failed);
  EXPECT_EQ(second.out.state, Outgoing::State::failed);
  EXPECT_TRUE(pair.wires(0).flushed());
}

TEST(Framed, a_cut_is_a_loss_on_both_sides) {
  Pair pair(1000);
  pair.wires(0).cut(1);
  ASSERT_TRUE(pair.wires(0).failed());
  EXPECT_EQ(pair.wires(0).failure()->rank, 1);
  EXPECT_EQ(pair.wires(0).failure()->text, "the connection to rank 1 was cut");
  expect_failure(pair, "rank 0 closed the connection");
}

// --- wires that are made when they are wanted ------------------------------------------------------------

using Wanted = std::vector<std::pair<int, Lane>>;

Outgoing* goodbye(int to, Lane lane, std::uint32_t sequence) {
  Header header;
  header.lane = lane;
  header.kind = FrameKind::goodbye;
  header.sequence = sequence;
  return make_owned(to, lane, header, {});
}

TEST(Framed, a_wire_is_asked_for_once_and_frames_wait_for_it) {
  Pair pair(1000, false);
  Frame part(Lane::collective, 0, 9, 30);
  Frame first(Lane::message, 0, 1, 20);
  Frame taken_back(Lane::message, 1, 2, 33);
  Frame third(Lane::message, 2, 3, 0);
  pair.wires(0).post(part.out);
  EXPECT_EQ(pair.wires(0).wanted, Wanted());
  for (Frame* each : {&first, &taken_back, &third}) pair.wires(0).post(each->out);
  EXPECT_EQ(pair.wires(0).wanted, (Wanted{{1, Lane::message}}));
  EXPECT_TRUE(pair.wires(0).cancel(taken_back.out));
  pair.settle();
  EXPECT_FALSE(pair.wires(0).flushed());
  EXPECT_EQ(pair.inbox(1, Lane::collective).frames.size(), 1U);
  pair.make(0);
  EXPECT_TRUE(pair.wires(0).poll());
  EXPECT_TRUE(pair.wires(0).flushed());
  EXPECT_EQ(first.out.state, Outgoing::State::done);
  pair.settle();
  EXPECT_TRUE(pair.inbox(1, Lane::message).frames.empty());  // it is not there yet at the other end
  pair.make(1);
  pair.settle();
  const auto& got = pair.inbox(1, Lane::message).frames;
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].payload, first.payload);
  EXPECT_EQ(got[1].number, 3U);
  // The other way it serves as well.
  pair.wires(1).post(*make_owned(0, Lane::message, header_of(Lane::message, 0, 8, 5), payload_of(8, 5)));
  pair.settle();
  EXPECT_EQ(pair.wires(1).wanted, Wanted());
  ASSERT_EQ(pair.inbox(0, Lane::message).frames.size(), 1U);
  EXPECT_EQ(pair.inbox(0, Lane::message).frames[0].payload, payload_of(8, 5));
  // Goodbyes go over it.
  pair.wires(0).post(*goodbye(1, Lane::message, 3));
  pair.settle();
  EXPECT_EQ(pair.wires(0).left, Wanted());
  EXPECT_EQ(pair.inbox(1, Lane::message).left, std::vector{0});
  EXPECT_FALSE(pair.wires(0).failed() || pair.wires(1).failed());
}

TEST(Framed, a_wire_is_not_made_for_a_goodbye) {
  Pair pair(1000, false);
  pair.wires(0).post(*goodbye(1, Lane::collective, 0));
  pair.wires(0).post(*goodbye(1, Lane::message, 0));
  EXPECT_EQ(pair.wires(0).wanted, Wanted());
  EXPECT_EQ(pair.wires(0).left, (Wanted{{1, Lane::message}}));
  EXPECT_TRUE(pair.wires(0).flushed());
  pair.settle();
  EXPECT_FALSE(pair.wires(1).has_departed(0));  // the word is on its way
  EXPECT_TRUE(pair.inbox(1, Lane::message).left.empty());
  pair.wires(1).left_unmade(0, Lane::message);
  EXPECT_TRUE(pair.wires(1).has_departed(0));
  EXPECT_EQ(pair.inbox(1, Lane::message).left, std::vector{0});
  Frame late(Lane::message, 0, 1, 5);
  late.out.peer = 0;
  pair.wires(1).post(late.out);
  EXPECT_EQ(late.out.state, Outgoing::State::failed);
  EXPECT_EQ(pair.wires(1).wanted, Wanted());
  // The other one leaves too.
  pair.wires(1).post(*goodbye(0, Lane::collective, 0));
  pair.wires(1).post(*goodbye(0, Lane::message, 0));
  pair.settle();
  EXPECT_TRUE(pair.wires(0).has_departed(1));
  EXPECT_FALSE(pair.wires(0).failed() || pair.wires(1).failed());
}

TEST(Framed, a_wire_that_comes_to_who_has_left_is_closed) {
  Pair pair(1000, false);
  Frame message(Lane::message, 0, 1, 20);
  Frame never(Lane::message, 1, 2, 2000);
  pair.wires(0).post(message.out);
  pair.wires(0).post(never.out);
  pair.make(0);
  pair.settle();
  EXPECT_EQ(message.out.state, Outgoing::State::done);
  pair.wires(1).post(*goodbye(0, Lane::message, 0));
  pair.make(1);
  pair.wires(0).left_unmade(1, Lane::message);  // the word comes before the end, or after it
  pair.settle();
  EXPECT_EQ(never.out.state, Outgoing::State::failed);
  EXPECT_TRUE(pair.inbox(1, Lane::message).frames.empty());
  EXPECT_EQ(pair.inbox(0, Lane::message).left, std::vector{1});
  EXPECT_FALSE(pair.wires(0).failed() || pair.wires(1).failed());
}

TEST(Framed, the_end_of_a_new_wire_is_a_loss_until_its_peer_is_known_to_have_left) {
  Pair pair(1000, false);
  pair.make(0);
  pair.make(1);
  pair.wires(0).cut(1);
  pair.settle();
  ASSERT_TRUE(pair.wires(1).failed());
  EXPECT_FALSE(pair.wires(1).has_departed(0, Lane::message));
  pair.wires(1).left_unmade(0, Lane::message);
  EXPECT_TRUE(pair.wires(1).has_departed(0, Lane::message));
  EXPECT_EQ(pair.inbox(1, Lane::message).left, std::vector{0});
}

TEST(Framed, one_wire_too_many_is_closed) {
  Pair pair(1000, false);
  pair.make(0);
  pair.make(1);
  Pipe in(100, pair.bell(), pair.bell());
  Pipe out(100, pair.bell(), pair.bell());
  pair.wires(1).made(0, Lane::message, std::make_unique<PipeStream>(in, out));
  std::array<std::byte, 1> byte{};
  EXPECT_EQ(out.read(byte).state, rondo::net::Moved::State::closed);
  Frame message(Lane::message, 0, 4, 20);
  pair.wires(0).post(message.out);
  pair.settle();
  ASSERT_EQ(pair.inbox(1, Lane::message).frames.size(), 1U);
  EXPECT_EQ(pair.inbox(1, Lane::message).frames[0].payload, message.payload);
}

TEST(Framed, a_wire_that_cannot_be_made_ends_the_group) {
  Pair pair(1000, false);
  Frame message(Lane::message, 0, 4, 20);
  pair.wires(0).post(message.out);
  pair.wires(0).not_made(1, Lane::message, "the cable of 1887 has parted");
  EXPECT_EQ(message.out.state, Outgoing::State::failed);
  ASSERT_TRUE(pair.wires(0).failed());
  EXPECT_EQ(pair.wires(0).failure()->kind, ErrorKind::disconnected);
  EXPECT_EQ(pair.wires(0).failure()->rank, 1);
  EXPECT_EQ(pair.wires(0).failure()->text, "no connection to rank 1: the cable of 1887 has parted");
  pair.make(0);  // too late
  EXPECT_FALSE(pair.wires(0).poll());
}

}  // namespace
