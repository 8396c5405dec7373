// Messages that are read where they lie: rank 0 is real, the memory and the tickets of rank 1 are the test's.

#include <gtest/gtest.h>

#include "transport/test_support.hpp"

namespace {

using namespace rondo::transport;
using namespace rondo::transport::test;
using rondo::ErrorKind;
using Verdict = Landing::Verdict;

constexpr Match::Options reading{.eager_bytes = 64, .credit_bytes = 2048, .single_copy_bytes = 100};
constexpr std::size_t several_pieces = 700'001;  // numbers: 2.8 MB

class QuietDoors final : public Doors {
 public:
  using Doors::Doors;

 private:
  void wake(int) override {}
};

struct WithDoors {
  std::vector<Door> doors{3};
  QuietDoors own{doors, 0, 11};
  QuietDoors theirs{doors, 1, 22};
};

class MatchReading : public WithDoors, public Alone {
 protected:
  explicit MatchReading(Match::Options options = reading) : Alone(options, &own) {}

  void SetUp() override {
    if (!own.can_read(1)) GTEST_SKIP() << "the system forbids it";
  }

  /// An offer of rank 1 that tells where its message lies.
  std::uint64_t offer_place(std::uint64_t id, const Ints& values, int tag = 5) {
    Header made = header(FrameKind::offer, id, ints(values.size(), tag));
    made.name_hash = reinterpret_cast<std::uintptr_t>(values.data());
    const std::uint64_t ticket = theirs.issue();
    made.payload_hash = ticket;
    EXPECT_EQ(arrive(1, made), Verdict::drain);
    return ticket;
  }
};

TEST_F(MatchReading, an_offer_before_or_behind_its_receive_is_read_and_answered_by_its_ticket) {
  const Ints first = numbers(1, big);
  const Ints second = numbers(2, big);
  Ints got(big, -1);

  Receiving early;
  start(early, got);
  const std::uint64_t one = offer_place(1, first);
  EXPECT_TRUE(match.test(early));
  wait(early);
  EXPECT_EQ(got, first);
  EXPECT_EQ(early.source(), 1);
  EXPECT_TRUE(theirs.is_used(one));

  const std::uint64_t two = offer_place(2, second);
  EXPECT_FALSE(theirs.is_used(two)) << "nobody has asked for it";
  Receiving late;
  start(late, got);
  wait(late);
  EXPECT_EQ(got, second);
  EXPECT_TRUE(theirs.is_used(two));
  EXPECT_TRUE(posted().empty());
}

TEST_F(MatchReading, a_long_message_is_read_in_pieces) {
  const Ints values = numbers(3, several_pieces);
  const std::uint64_t ticket = offer_place(1, values);
  Ints got(several_pieces, -1);
  Receiving receiving;
  start(receiving, got);
  EXPECT_FALSE(theirs.is_used(ticket));
  EXPECT_EQ(got.front(), values.front());
  EXPECT_EQ(got.back(), -1);
  wait(receiving);
  EXPECT_EQ(got, values);
  EXPECT_TRUE(theirs.is_used(ticket));
  EXPECT_FALSE(match.move());
  EXPECT_TRUE(posted().empty());
}

TEST_F(MatchReading, one_that_is_taken_back_half_read_gives_its_receive_to_the_next) {
  const Ints values = numbers(3, several_pieces);
  const std::uint64_t ticket = offer_place(1, values);
  Ints got(several_pieces, -1);
  Receiving receiving;
  start(receiving, got);
  ASSERT_TRUE(theirs.take_back(ticket));
  EXPECT_FALSE(match.move());
  EXPECT_FALSE(match.test(receiving));
  EXPECT_TRUE(posted().empty());
  arrive(1, header(FrameKind::withdraw, 1));
  EXPECT_EQ(posted(), std::vector<FrameKind>{FrameKind::gone});
  const Ints other = numbers(4, several_pieces);
  offer_place(2, other);
  wait(receiving);
  EXPECT_EQ(got, other);
}

TEST_F(MatchReading, memory_that_cannot_be_read_is_asked_for) {
  const Ints values = numbers(5, big);
  Header made = header(FrameKind::offer, 1, ints(big, 5));
  made.name_hash = 8;  // no memory of anybody
  made.payload_hash = theirs.issue();
  arrive(1, made);
  Ints got(big, -1);
  Receiving receiving;
  start(receiving, got);
  EXPECT_EQ(posted(), std::vector<FrameKind>{FrameKind::accept});
  EXPECT_FALSE(match.test(receiving));
  EXPECT_EQ(arrive(1, FrameKind::data, 1, values), Verdict::take);
  wait(receiving);
  EXPECT_EQ(got, values);
}

TEST_F(MatchReading, data_for_a_message_that_is_being_read_breaks_the_protocol) {
  const Ints values = numbers(3, several_pieces);
  offer_place(1, values);
  Ints got(several_pieces, -1);
  Receiving receiving;
  start(receiving, got);
  arrive(1, FrameKind::data, 1, values);
  expect_broken("data that nobody accepted");
  match.cancel(receiving);
}

TEST_F(MatchReading, a_receive_that_is_cancelled_half_way_lets_the_data_come_to_nowhere) {
  const Ints values = numbers(3, several_pieces);
  offer_place(1, values);
  Ints got(several_pieces, -1);
  {
    Receiving receiving;
    start(receiving, got);
    match.cancel(receiving);
  }
  EXPECT_EQ(posted(), std::vector<FrameKind>{FrameKind::accept});
  const Ints untouched = got;
  EXPECT_EQ(arrive(1, FrameKind::data, 1, values), Verdict::drain);
  EXPECT_FALSE(match.move());
  EXPECT_EQ(got, untouched);
}

TEST_F(MatchReading, a_mismatch_is_refused_and_nothing_is_read) {
  const Ints values = numbers(3, big);
  const std::uint64_t ticket = offer_place(1, values);
  Ints got(big + 1, -1);
  Receiving receiving;
  start(receiving, got);
  EXPECT_EQ(posted(), std::vector<FrameKind>{FrameKind::refuse});
  EXPECT_EQ(got, Ints(big + 1, -1));
  EXPECT_TRUE(theirs.is_valid(1, ticket));
  expect_problem(ErrorKind::mismatch, "int32 [40]", [&] { wait(receiving); });
}

TEST_F(MatchReading, a_send_is_over_when_its_ticket_is_used) {
  const Ints values = numbers(6, big);
  Sending sending;
  start(sending, values);
  const auto frames = wires.take();
  ASSERT_EQ(kinds(frames), std::vector<FrameKind>{FrameKind::offer});
  EXPECT_EQ(frames[0].header.name_hash, reinterpret_cast<std::uintptr_t>(values.data()));
  const std::uint64_t ticket = frames[0].header.payload_hash;
  ASSERT_NE(ticket, 0U);
  EXPECT_FALSE(match.test(sending));
  ASSERT_TRUE(theirs.use(0, ticket));
  EXPECT_TRUE(match.test(sending));
  wait(sending);
  EXPECT_TRUE(posted().empty());
  arrive(1, header(FrameKind::accept, 1));
  expect_broken("an answer to an offer that was not made");
}

TEST_F(MatchReading, a_send_that_was_read_while_it_was_given_up_is_a_send) {
  const Ints values = numbers(6, big);
  Sending sending;
  start(sending, values);
  const std::uint64_t ticket = wires.take().at(0).header.payload_hash;
  ASSERT_TRUE(theirs.use(0, ticket));
  EXPECT_FALSE(match.cancel(sending));
  EXPECT_TRUE(posted().empty()) << "nothing is withdrawn";
}

TEST_F(MatchReading, a_send_that_is_given_up_closes_its_memory_first) {
  const Ints values = numbers(6, big);
  Sending sending;
  start(sending, values);
  const std::uint64_t ticket = wires.take().at(0).header.payload_hash;
  expect_problem(ErrorKind::timed_out, "rank 1", [&] { wait(sending); });
  EXPECT_FALSE(theirs.is_valid(0, ticket));
  EXPECT_FALSE(theirs.use(0, ticket));
  EXPECT_EQ(posted(), std::vector<FrameKind>{FrameKind::withdraw});
}

TEST_F(MatchReading, who_cannot_read_gets_the_data) {
  const Ints values = numbers(6, big);
  Sending sending;
  start(sending, values);
  const std::uint64_t ticket = wires.take().at(0).header.payload_hash;
  arrive(1, header(FrameKind::accept, 1));
  EXPECT_FALSE(theirs.is_valid(0, ticket));
  EXPECT_EQ(posted(), std::vector<FrameKind>{FrameKind::data});
  wait(sending);
}

TEST_F(MatchReading, a_refusal_closes_the_memory) {
  const Ints values = numbers(6, big);
  Sending sending;
  start(sending, values);
  const std::uint64_t ticket = wires.take().at(0).header.payload_hash;
  const std::string words = "mismatch: so it is";
  Header refusal = header(FrameKind::refuse, 1);
  refusal.bytes = words.size();
  const auto bytes = std::as_bytes(std::span(words));
  arrive(1, refusal, {bytes.begin(), bytes.end()});
  EXPECT_FALSE(theirs.is_valid(0, ticket));
  expect_problem(ErrorKind::mismatch, words, [&] { wait(sending); });
}

TEST_F(MatchReading, without_a_ticket_an_offer_is_a_plain_one) {
  while (own.issue() != 0) continue;
  const Ints values = numbers(6, big);
  Sending sending;
  start(sending, values);
  const auto frames = wires.take();
  EXPECT_EQ(frames.at(0).header.payload_hash, 0U);
  EXPECT_EQ(frames.at(0).header.name_hash, 0U);
  arrive(1, header(FrameKind::accept, 1));
  wait(sending);
}

TEST_F(MatchReading, a_door_that_is_shut_or_a_small_message_gets_a_plain_offer) {
  const Ints values = numbers(6, big);
  Sending to_two;  // whose door is shut
  match.start(to_two, 2, ints(big, 5), std::as_bytes(std::span(values)));
  EXPECT_EQ(wires.take().at(0).header.payload_hash, 0U);
  match.cancel(to_two);
  wires.take();
  const Ints few = numbers(7, 20);  // 80 bytes: an offer, below the limit
  Sending small_one;
  start(small_one, few);
  EXPECT_EQ(wires.take().at(0).header.payload_hash, 0U);
  match.cancel(small_one);
}

class MatchReadingChecked : public MatchReading {
 protected:
  MatchReadingChecked()
      : MatchReading([] {
          Match::Options options = reading;
          options.check_payload = true;
          return options;
        }()) {}
};

TEST_F(MatchReadingChecked, payloads_that_are_checked_travel) {
  const Ints values = numbers(6, big);
  Sending sending;
  start(sending, values);
  EXPECT_EQ(wires.take().at(0).header.payload_hash, 0U);
  match.cancel(sending);
  wires.take();
  offer_place(1, values);
  Ints got(big, -1);
  Receiving receiving;
  start(receiving, got);
  EXPECT_EQ(posted(), std::vector<FrameKind>{FrameKind::accept});
  match.cancel(receiving);
}

}  // namespace
