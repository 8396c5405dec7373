#include "transport/match.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include "transport/test_support.hpp"

namespace {

using namespace rondo::transport;
using namespace rondo::transport::test;
using rondo::any_source;
using rondo::any_tag;
using rondo::DType;
using rondo::ErrorKind;

TEST(Match, messages_of_a_tag_keep_their_order_and_tags_do_not_wait_for_each_other) {
  Ranks ranks(2);
  for (int i = 0; i < 4; ++i) {
    ranks.send(0, 1, 7, numbers(i, 3));
    ranks.send(0, 1, 8, numbers(100 + i, 3));
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ranks.receive(1, 0, 8, 3), numbers(100 + i, 3));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ranks.receive(1, 0, 7, 3), numbers(i, 3));
}

TEST(Match, receives_posted_first_are_served_in_order) {
  Ranks ranks(2);
  std::deque<Receiving> receivings;
  std::deque<Ints> memory;
  const int tags[] = {5, any_tag, 6, 5};
  for (const int tag : tags) {
    memory.emplace_back(2, -1);
    ranks.start(receivings.emplace_back(), 1, 0, tag, memory.back());
  }
  const int sent[] = {6, 5, 5, 6};  // meet the receives 1, 0, 3, 2
  for (int i = 0; i < 4; ++i) ranks.send(0, 1, sent[i], numbers(i, 2));
  for (Receiving& each : receivings) ranks.wait(1, each);
  EXPECT_EQ(memory[1], numbers(0, 2));
  EXPECT_EQ(memory[0], numbers(1, 2));
  EXPECT_EQ(memory[3], numbers(2, 2));
  EXPECT_EQ(memory[2], numbers(3, 2));
  EXPECT_EQ(receivings[1].tag(), 6);
}

TEST(Match, any_source_takes_what_came_first_and_says_whose_it_was) {
  Ranks ranks(4);
  for (const int from : {2, 1, 3}) {
    ranks.send(from, 0, 40 + from, numbers(from, 5));
    ranks.settle();
  }
  for (const int from : {2, 1, 3}) {
    Receiving receiving;
    Ints values(5);
    ranks.start(receiving, 0, any_source, any_tag, values);
    ranks.wait(0, receiving);
    EXPECT_EQ(receiving.source(), from);
    EXPECT_EQ(receiving.tag(), 40 + from);
    EXPECT_EQ(values, numbers(from, 5));
  }
}

TEST(Match, a_message_nobody_waits_for_is_kept_apart_from_its_sender) {
  Ranks ranks(2);
  Ints values = numbers(4, 6);
  ranks.send(0, 1, 1, values);
  values.assign(6, 0);
  EXPECT_EQ(ranks.receive(1, 0, 1, 6), numbers(4, 6));
}

TEST(Match, offers_move_their_data_when_the_receive_comes_and_keep_the_order) {
  for (const bool receive_first : {false, true}) {
    Ranks ranks(2, small, 100);
    std::deque<Sending> sendings(3);
    const std::vector<Ints> sent = {numbers(1, 2), numbers(2, big), numbers(3, 2)};
    std::deque<Receiving> receivings(3);
    std::vector<Ints> got = {Ints(2), Ints(big), Ints(2)};
    const auto send = [&] {
      for (std::size_t i = 0; i < 3; ++i) ranks.start(sendings[i], 0, 1, 9, sent[i]);
    };
    if (!receive_first) send();
    ranks.settle();
    for (std::size_t i = 0; i < 3; ++i) ranks.start(receivings[i], 1, 0, 9, got[i]);
    if (receive_first) send();
    for (Sending& each : sendings) ranks.wait(0, each);
    for (Receiving& each : receivings) ranks.wait(1, each);
    EXPECT_EQ(got, sent);
  }
}

TEST(Match, an_offer_is_not_over_before_its_receive) {
  Ranks ranks(2);
  Sending sending;
  const Ints values = numbers(5, big);
  ranks.start(sending, 0, 1, 2, values);
  ranks.settle();
  EXPECT_FALSE(ranks[0].test(sending));
  Receiving receiving;
  Ints got(big);
  ranks.start(receiving, 1, 0, 2, got);
  EXPECT_FALSE(ranks[1].test(receiving));
  ranks.settle();
  EXPECT_TRUE(ranks[0].test(sending));
  EXPECT_TRUE(ranks[1].test(receiving));
  ranks.wait(0, sending);
  ranks.wait(1, receiving);
  EXPECT_EQ(got, values);
}

TEST(Match, beyond_its_credit_a_sender_waits_and_goes_on_when_some_has_been_matched) {
  Ranks ranks(2);
  std::deque<Sending> sendings;
  std::deque<Ints> values;
  for (int i = 0; i < 60; ++i) {  // small messages, and empty ones, which count as well
    values.push_back(numbers(i, i % 3 == 0 ? 0 : 4));
    ranks.start(sendings.emplace_back(), 0, 1, 3, values.back());
  }
  ranks.settle();
  const auto over = [&] {
    return std::count_if(sendings.begin(), sendings.end(),
                         [&](const Sending& each) { return ranks[0].test(each); });
  };
  const auto at_once = over();
  EXPECT_GE(at_once, static_cast<long>(small.credit_bytes / charge_of(16)));
  EXPECT_LE(at_once, static_cast<long>(small.credit_bytes / charge_of(0)));
  for (const Ints& each : values) EXPECT_EQ(ranks.receive(1, 0, 3, each.size()), each);
  EXPECT_EQ(over(), 60);
  for (Sending& each : sendings) ranks.wait(0, each);
  // All credit is back but what is not worth a frame: most of a second round leaves at once.
  std::deque<Sending> again;
  const Ints four = numbers(77, 4);
  for (long i = 0; i < at_once / 2; ++i) {
    ranks.start(again.emplace_back(), 0, 1, 4, four);
    EXPECT_TRUE(ranks[0].test(again.back())) << i;
    ranks.wait(0, again.back());
  }
}

TEST(Match, a_mismatched_offer_tells_both_sides_and_harms_nothing_else) {
  for (const bool receive_first : {false, true}) {
    Ranks ranks(2);
    Sending sending;
    Receiving receiving;
    const Ints values = numbers(6, big);
    Ints got(3, -5);
    if (receive_first) ranks.start(receiving, 1, 0, any_tag, got);
    ranks.start(sending, 0, 1, 12, values);
    ranks.settle();
    if (!receive_first) ranks.start(receiving, 1, 0, any_tag, got);
    const std::string words =
        "mismatch: rank 0 sends int32 [40] (160 bytes) with tag 12, rank 1 expects int32 [3] (12 bytes)";
    expect_problem(ErrorKind::mismatch, words, [&] { ranks.wait(1, receiving); });
    expect_problem(ErrorKind::mismatch, words, [&] { ranks.wait(0, sending); });
    EXPECT_EQ(got, Ints(3, -5));
    ranks.send(0, 1, 12, numbers(8, 3));
    EXPECT_EQ(ranks.receive(1, 0, 12, 3), numbers(8, 3));
    EXPECT_FALSE(ranks.wires(0).failed());
  }
}

TEST(Match, type_and_every_extent_must_agree_not_only_the_bytes) {
  Ranks ranks(2);
  ranks.send(0, 1, 1, numbers(1, 6));
  ranks.send(0, 1, 2, numbers(1, 6));
  std::vector<std::byte> memory(24);
  Envelope shaped = ints(6, 1);
  shaped.dims.size = 2;
  shaped.dims.value = {2, 3};
  Envelope typed = ints(6, 2);
  typed.dtype = DType::float32;
  for (const Envelope& expected : {shaped, typed}) {
    Receiving receiving;
    ranks[1].start(receiving, 0, expected, memory);
    expect_problem(ErrorKind::mismatch, to_string(expected), [&] { ranks.wait(1, receiving); });
  }
}

TEST(Match, a_mismatched_eager_message_tells_its_sender_at_the_next_call_once) {
  const std::vector<std::function<void(Ranks&)>> next_calls = {
      [](Ranks& ranks) { ranks.send(0, 1, 3, numbers(2, 1)); },
      [](Ranks& ranks) { (void)ranks.receive(0, 1, 3, 1); },
      [](Ranks& ranks) { (void)ranks[0].look(1, 3); },
      [](Ranks& ranks) { (void)ranks.probe(0, 1, 3); },
  };
  for (const auto& next_call : next_calls) {
    Ranks ranks(3);
    ranks.send(0, 1, 3, numbers(1, 2));
    expect_problem(ErrorKind::mismatch, "rank 0 sends int32 [2]", [&] { (void)ranks.receive(1, 0, 3, 5); });
    ranks.settle();
    ranks.send(0, 2, 3, numbers(1, 2));  // not about rank 2
    expect_problem(ErrorKind::mismatch, "rank 1 expects int32 [5] (20 bytes)", [&] { next_call(ranks); });
    ranks.send(0, 1, 3, numbers(4, 2));
    EXPECT_EQ(ranks.receive(1, 0, 3, 2), numbers(4, 2));
  }
}

TEST(Match, a_thousand_timed_out_waits_leave_nothing_behind) {
  Ranks ranks(2);
  for (int i = 0; i < 1000; ++i) {
    if (i % 2 == 0) {
      expect_problem(ErrorKind::timed_out, "waiting for a message from rank 0",
                     [&] { (void)ranks.receive(1, 0, i % 5, 3); });
    } else {
      Sending sending;
      const Ints values = numbers(i, big);
      ranks.start(sending, 0, 1, i % 5, values);
      expect_problem(ErrorKind::timed_out, "waiting for rank 1 to receive", [&] { ranks.wait(0, sending); });
    }
  }
  ranks.settle();
  EXPECT_EQ(ranks[1].look(any_source, any_tag), std::nullopt);
  for (int tag = 0; tag < 5; ++tag) {
    Sending sending;
    Receiving receiving;
    const Ints values = numbers(tag, big);
    Ints got(big);
    ranks.start(sending, 0, 1, tag, values);
    ranks.start(receiving, 1, 0, tag, got);
    ranks.wait(0, sending);
    ranks.wait(1, receiving);
    EXPECT_EQ(got, values);
  }
}

}  // namespace
