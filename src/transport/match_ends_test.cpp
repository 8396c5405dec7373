// Transfers taken back, probes, and peers that leave.

#include "transport/match.hpp"

#include <gtest/gtest.h>

#include "transport/test_support.hpp"

namespace {

using namespace rondo::transport;
using namespace rondo::transport::test;
using rondo::any_source;
using rondo::any_tag;
using rondo::DType;
using rondo::ErrorKind;
using rondo::MessageInfo;
using rondo::Shape;

TEST(MatchEnds, accept_and_withdrawal_cross) {
  Ranks ranks(2);
  Sending first;
  Receiving receiving;
  Ints got(big);
  const Ints withdrawn = numbers(1, big);
  ranks.start(first, 0, 1, 5, withdrawn);
  ranks.start(receiving, 1, 0, 5, got);
  ranks.poll(1);           // sees the offer and accepts
  ranks[0].cancel(first);  // before the accept is seen
  ranks.settle();
  EXPECT_FALSE(ranks[1].test(receiving));  // it waits again, at the place it had
  const Ints later = numbers(2, big);
  Sending second;
  ranks.start(second, 0, 1, 5, later);
  ranks.wait(0, second);
  ranks.wait(1, receiving);
  EXPECT_EQ(got, later);
  EXPECT_FALSE(ranks.wires(0).failed() || ranks.wires(1).failed());
}

TEST(MatchEnds, a_receive_cancelled_after_its_accept_lets_the_data_go) {
  Ranks ranks(2);
  Sending sending;
  Ints got(big, -9);
  {
    Receiving receiving;
    const Ints values = numbers(1, big);
    ranks.start(sending, 0, 1, 5, values);
    ranks.start(receiving, 1, 0, 5, got);
    ranks.poll(1);  // sees the offer and accepts
    ranks[1].cancel(receiving);
    ranks.wait(0, sending);
  }
  ranks.settle();
  EXPECT_EQ(got, Ints(big, -9));
  ranks.send(0, 1, 5, numbers(3, 4));
  EXPECT_EQ(ranks.receive(1, 0, 5, 4), numbers(3, 4));
}

TEST(MatchEnds, a_send_taken_back_while_its_data_move_is_finished_from_a_copy) {
  Ranks ranks(2, small, 64);
  Sending sending;
  Receiving receiving;
  Ints values = numbers(1, 1000);
  const Ints expected = values;
  Ints got(1000);
  ranks.start(sending, 0, 1, 5, values);
  ranks.start(receiving, 1, 0, 5, got);
  for (int i = 0; i < 12; ++i) ranks.poll(i % 2);  // offer, accept, some of the data
  EXPECT_FALSE(ranks[0].test(sending));
  ranks[0].cancel(sending);
  values.assign(1000, 0);
  ranks.wait(1, receiving);
  EXPECT_EQ(got, expected);
}

TEST(MatchEnds, probes_tell_of_the_first_message_and_leave_it) {
  Ranks ranks(3);
  EXPECT_EQ(ranks[0].look(any_source, any_tag), std::nullopt);
  expect_problem(ErrorKind::timed_out, "waiting for a message from any rank",
                 [&] { (void)ranks.probe(0, any_source, any_tag); });
  ranks.send(1, 0, 4, numbers(1, 3));
  ranks.settle();
  Sending offer;
  const Ints values = numbers(2, big);
  ranks.start(offer, 2, 0, 5, values);
  ranks.settle();
  for (int i = 0; i < 2; ++i) {
    const MessageInfo first = ranks.probe(0, any_source, any_tag);
    EXPECT_EQ(first.source, 1);
    EXPECT_EQ(first.tag, 4);
    EXPECT_EQ(first.dtype, DType::int32);
    EXPECT_EQ(first.shape, Shape{3});
    EXPECT_EQ(first.bytes, 12U);
  }
  EXPECT_EQ(ranks[0].look(any_source, 5)->source, 2);
  EXPECT_EQ(ranks[0].look(2, any_tag)->bytes, 4 * big);
  EXPECT_EQ(ranks[0].look(2, 4), std::nullopt);
  EXPECT_EQ(ranks.receive(0, 1, 4, 3), numbers(1, 3));
  EXPECT_EQ(ranks.probe(0, any_source, any_tag).source, 2);
  EXPECT_EQ(ranks.receive(0, 2, 5, big), values);
  ranks.wait(2, offer);
  EXPECT_EQ(ranks[0].look(any_source, any_tag), std::nullopt);
}

TEST(MatchEnds, what_was_sent_before_a_goodbye_arrives_and_nothing_is_awaited_after_it) {
  Ranks ranks(3);
  Sending offer;
  const Ints values = numbers(3, big);
  ranks.start(offer, 1, 0, 5, values);  // to one who leaves
  ranks.send(0, 1, 4, numbers(1, 3));
  ranks[0].say_goodbye();
  EXPECT_EQ(ranks.receive(1, 0, 4, 3), numbers(1, 3));
  expect_problem(ErrorKind::disconnected, "rank 0 left the group", [&] { (void)ranks.receive(1, 0, 4, 3); });
  expect_problem(ErrorKind::disconnected, "rank 0 left the group", [&] { (void)ranks.probe(1, 0, 4); });
  expect_problem(ErrorKind::disconnected, "rank 0 left the group",
                 [&] { ranks.send(1, 0, 4, numbers(2, 1)); });
  expect_problem(ErrorKind::disconnected, "rank 0 left the group", [&] { ranks.wait(1, offer); });
  expect_problem(ErrorKind::timed_out, "any rank", [&] { (void)ranks.receive(1, any_source, 4, 3); });
  ranks.send(2, 1, 4, numbers(6, 3));
  EXPECT_EQ(ranks.receive(1, any_source, 4, 3), numbers(6, 3));
  ranks[2].say_goodbye();
  expect_problem(ErrorKind::disconnected, "every other rank left the group",
                 [&] { (void)ranks.receive(1, any_source, 4, 3); });
}

}  // namespace
