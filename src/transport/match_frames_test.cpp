// Matching seen from the wire: which frames come in, which go out. The other ranks are played by hand.

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "transport/test_support.hpp"

namespace {

using namespace rondo::transport;
using namespace rondo::transport::test;
using rondo::ErrorKind;
using Bytes = std::vector<std::byte>;
using Kinds = std::vector<FrameKind>;
using Verdict = Landing::Verdict;
using MatchFrames = Alone;

TEST_F(MatchFrames, eager_up_to_the_limit_and_the_credit_then_offers) {
  const Ints at_limit = numbers(1, 16);
  const Ints above = numbers(2, 17);
  Sending sendings[3];
  start(sendings[0], at_limit);
  start(sendings[1], above);
  auto frames = wires.take();
  ASSERT_EQ(kinds(frames), (Kinds{FrameKind::eager, FrameKind::offer}));
  EXPECT_EQ(frames[0].payload, bytes_of(at_limit));
  EXPECT_EQ(frames[0].header.root_or_tag, 5);
  EXPECT_EQ(frames[1].payload, Bytes());
  EXPECT_EQ(frames[1].header.count, 68U);
  // The credit is for bytes and envelopes: floor(2048 / (64 + 128)) = 10 such messages.
  std::deque<Sending> more;
  for (int i = 1; i < 12; ++i) start(more.emplace_back(), at_limit);
  frames = wires.take();
  ASSERT_EQ(frames.size(), 11U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].header.kind, i < 9 ? FrameKind::eager : FrameKind::offer) << i;
    EXPECT_EQ(frames[i].header.sequence, 2 + i);
  }
  Envelope amount;
  amount.bytes = 192;
  arrive(1, header(FrameKind::credit, 0, amount));
  start(sendings[2], at_limit);
  EXPECT_EQ(posted(), Kinds{FrameKind::eager});
  for (Sending& each : more) match.cancel(each);
  match.cancel(sendings[1]);
}

TEST_F(MatchFrames, the_receiver_keeps_no_more_than_the_credit) {
  const Ints values = numbers(1, 16);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(arrive(1, FrameKind::eager, 0, values), Verdict::take);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(arrive(2, FrameKind::eager, 0, values), Verdict::take);
  EXPECT_FALSE(wires.failed());
  EXPECT_EQ(arrive(1, FrameKind::eager, 0, values), Verdict::drain);
  expect_broken("more unmatched bytes than its credit");
}

TEST_F(MatchFrames, a_huge_length_allocates_nothing) {
  Header huge = header(FrameKind::eager, 0, ints(std::size_t{1} << 60U, 5));
  huge.bytes = huge.count;
  EXPECT_EQ(match.arriving(1, huge).verdict, Verdict::drain);
  expect_broken("more unmatched bytes than its credit");
}

TEST_F(MatchFrames, credit_comes_back_in_portions) {
  const Ints values = numbers(1, 4);  // charge 144; a portion is a quarter of 2048
  for (int i = 0; i < 4; ++i) {
    Ints got(4);
    Receiving receiving;
    if (i % 2 == 0) arrive(1, FrameKind::eager, 0, values);
    start(receiving, got);
    if (i % 2 == 1) arrive(1, FrameKind::eager, 0, values);
    wait(receiving);
    EXPECT_EQ(got, values);
    const auto frames = wires.take();
    if (i < 3) {
      EXPECT_TRUE(frames.empty());
    } else {
      ASSERT_EQ(kinds(frames), Kinds{FrameKind::credit});
      EXPECT_EQ(frames[0].header.count, 4 * 144U);
    }
  }
}

TEST_F(MatchFrames, an_offer_is_accepted_refused_or_gone) {
  offer(1, 1, 40);
  Receiving good;
  Ints got(40);
  start(good, got);
  auto frames = wires.take();
  ASSERT_EQ(kinds(frames), Kinds{FrameKind::accept});
  EXPECT_EQ(frames[0].header.number, 1U);
  arrive(1, FrameKind::data, 1, numbers(3, 40));
  wait(good);
  EXPECT_EQ(got, numbers(3, 40));

  offer(1, 2, 41);
  Receiving wrong;
  start(wrong, got);
  frames = wires.take();
  ASSERT_EQ(kinds(frames), Kinds{FrameKind::refuse});
  EXPECT_EQ(frames[0].header.number, 2U);
  EXPECT_EQ(frames[0].payload.size(), frames[0].header.bytes);
  expect_problem(ErrorKind::mismatch, "rank 1 sends int32 [41]", [&] { wait(wrong); });

  offer(1, 3, 40);
  arrive(1, header(FrameKind::withdraw, 3));
  frames = wires.take();
  ASSERT_EQ(kinds(frames), Kinds{FrameKind::gone});
  EXPECT_EQ(frames[0].header.number, 3U);
  EXPECT_FALSE(wires.failed());
}

TEST_F(MatchFrames, a_withdrawal_that_meets_a_refusal_needs_no_answer) {
  offer(1, 1, 41);
  Receiving wrong;
  Ints got(40);
  start(wrong, got);
  (void)wires.take();
  arrive(1, header(FrameKind::withdraw, 1));
  EXPECT_EQ(posted(), Kinds());
  EXPECT_FALSE(wires.failed());
  match.cancel(wrong);
}

TEST_F(MatchFrames, a_withdrawn_offer_gives_its_receive_back_its_place) {
  offer(1, 1, 4);
  Ints first_got(4);
  Ints second_got(4);
  Receiving first;
  Receiving second;
  start(first, first_got);  // accepts
  start(second, second_got);
  arrive(1, header(FrameKind::withdraw, 1));
  arrive(1, FrameKind::eager, 0, numbers(7, 4));
  arrive(1, FrameKind::eager, 0, numbers(8, 4));
  wait(first);
  wait(second);
  EXPECT_EQ(first_got, numbers(7, 4));
  EXPECT_EQ(second_got, numbers(8, 4));
}

TEST_F(MatchFrames, a_withdrawn_offer_lets_its_receive_take_what_came_since) {
  offer(1, 1, 4);
  Ints got(4);
  Receiving receiving;
  start(receiving, got);
  arrive(1, FrameKind::eager, 0, numbers(7, 4));
  arrive(1, header(FrameKind::withdraw, 1));
  wait(receiving);
  EXPECT_EQ(got, numbers(7, 4));
}

TEST_F(MatchFrames, every_answer_to_a_withdrawn_offer_is_swallowed_once) {
  for (const FrameKind answer : {FrameKind::accept, FrameKind::refuse, FrameKind::gone}) {
    Sending sending;
    const Ints values = numbers(1, big);
    start(sending, values);
    const std::uint64_t id = wires.take().front().header.number;
    match.cancel(sending);
    EXPECT_EQ(posted(), Kinds{FrameKind::withdraw});
    arrive(1, header(answer, id));
    EXPECT_EQ(posted(), Kinds());
    EXPECT_FALSE(wires.failed());
  }
  arrive(1, header(FrameKind::accept, 1));
  expect_broken("an answer to an offer that was not made");
}

TEST_F(MatchFrames, an_offer_that_has_not_left_is_taken_back_without_a_trace) {
  wires.hold();
  Sending sending;
  const Ints values = numbers(1, big);
  start(sending, values);
  match.cancel(sending);
  wires.let_go();
  EXPECT_EQ(posted(), Kinds());
}

TEST_F(MatchFrames, an_offer_whose_first_byte_has_left_is_withdrawn) {
  wires.hold();
  {
    Sending sending;
    const Ints values = numbers(1, big);
    start(sending, values);
    wires.begin();
    match.cancel(sending);
  }
  wires.let_go();
  EXPECT_EQ(posted(), (Kinds{FrameKind::offer, FrameKind::withdraw}));
}

TEST_F(MatchFrames, an_eager_message_taken_back_in_time_costs_no_credit) {
  const Ints values = numbers(1, 16);
  wires.hold();
  for (int i = 0; i < 40; ++i) {
    Sending sending;
    start(sending, values);
    match.cancel(sending);
  }
  wires.let_go();
  EXPECT_EQ(posted(), Kinds());
  Sending sending;
  start(sending, values);
  EXPECT_EQ(posted(), Kinds{FrameKind::eager});
}

TEST_F(MatchFrames, data_promised_are_sent_even_when_taken_back) {
  for (const bool begun : {false, true}) {
    {
      Sending sending;
      Ints values = numbers(1, big);
      start(sending, values);
      const std::uint64_t id = wires.take().front().header.number;
      wires.hold();
      arrive(1, header(FrameKind::accept, id));
      if (begun) wires.begin();
      match.cancel(sending);
      values.assign(big, 0);
    }
    wires.let_go();
    const auto frames = wires.take();
    ASSERT_EQ(kinds(frames), Kinds{FrameKind::data});
    EXPECT_EQ(frames[0].payload, bytes_of(numbers(1, big)));
  }
}

}  // namespace
