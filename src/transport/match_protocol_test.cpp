// Transfers taken back at any moment, and peers that break the protocol.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "transport/test_support.hpp"

namespace {

using namespace rondo::transport;
using namespace rondo::transport::test;
using rondo::any_source;
using rondo::ErrorKind;
using Verdict = Landing::Verdict;
using MatchProtocol = Alone;

// Who answers an offer before it has left does not speak the protocol; believing it would put one frame on
// the wire twice, or leave one there that its owner has back.
TEST_F(MatchProtocol, an_answer_before_the_offer_has_left_is_a_broken_protocol) {
  for (const FrameKind answer : {FrameKind::accept, FrameKind::refuse}) {
    FakeTransport fresh(0, 3);
    rondo::base::SimScheduler clock(1);
    rondo::base::Event bell(clock);
    Progress progress(bell, 1);
    Match other(progress, fresh, small);
    fresh.hold();
    {
      Sending sending;
      const Ints values = numbers(1, big);
      other.start(sending, 1, ints(big, 5), std::as_bytes(std::span(values)));
      (void)other.arriving(1, header(answer, 1));
      other.arrived(1, header(answer, 1));
      ASSERT_TRUE(fresh.failed());
      EXPECT_EQ(fresh.failure()->text, "rank 1 broke the protocol: an answer to an offer that was not made");
      other.cancel(sending);
    }
    fresh.let_go();
  }
}

TEST_F(MatchProtocol, a_receive_is_cancelled_in_every_state) {
  Ints got(big, -1);
  Receiving idle;
  match.cancel(idle);

  Receiving waiting;
  start(waiting, got);
  match.cancel(waiting);
  match.cancel(waiting);
  arrive(1, FrameKind::eager, 0, numbers(1, big));  // kept
  EXPECT_EQ(match.look(1, 5)->bytes, 4 * big);
  {
    Receiving receiving;
    start(receiving, got);
    match.cancel(receiving);  // over
    wait(receiving);
    EXPECT_EQ(got, numbers(1, big));
  }

  offer(1, 1, big);
  {
    Receiving accepted;
    start(accepted, got);
    match.cancel(accepted);
  }
  got.assign(big, -2);
  EXPECT_EQ(arrive(1, FrameKind::data, 1, numbers(2, big)), Verdict::drain);
  offer(1, 2, big);
  {
    Receiving accepted;
    start(accepted, got);
    match.cancel(accepted);
  }
  arrive(1, header(FrameKind::withdraw, 2));

  const Header half = message(FrameKind::eager, 0, got);
  {
    Receiving landing;
    start(landing, got);
    EXPECT_EQ(match.arriving(1, half).memory.data(), std::as_bytes(std::span(got)).data());
    match.cancel(landing);
    EXPECT_TRUE(wires.drained(1));
  }
  match.arrived(1, half);
  EXPECT_EQ(got, Ints(big, -2));
  EXPECT_EQ(match.look(any_source, 5), std::nullopt);
  EXPECT_FALSE(wires.failed());
}

TEST_F(MatchProtocol, a_message_half_arrived_can_be_claimed_given_up_and_found_wrong) {
  const Ints values = numbers(1, 4);
  const Header half = message(FrameKind::eager, 0, values);
  const auto begin = [&] {
    const Landing landing = match.arriving(1, half);
    EXPECT_EQ(landing.verdict, Verdict::take);
    std::memcpy(landing.memory.data(), values.data(), 8);
    return landing.memory;
  };
  std::span<std::byte> memory = begin();
  Ints got(4);
  Receiving claimer;
  start(claimer, got);
  EXPECT_FALSE(match.test(claimer));
  EXPECT_EQ(match.look(1, 5), std::nullopt);  // it is somebody's
  std::memcpy(memory.data(), values.data(), 16);
  match.arrived(1, half);
  wait(claimer);
  EXPECT_EQ(got, values);

  memory = begin();
  got.assign(4, -3);
  {
    Receiving quitter;
    start(quitter, got);
    match.cancel(quitter);
  }
  std::memcpy(memory.data(), values.data(), 16);
  match.arrived(1, half);
  EXPECT_EQ(got, Ints(4, -3));

  memory = begin();
  Ints three(3);
  Receiving wrong;
  start(wrong, three);
  expect_problem(ErrorKind::mismatch, "expects int32 [3]", [&] { wait(wrong); });
  std::memcpy(memory.data(), values.data(), 16);
  match.arrived(1, half);
  EXPECT_EQ(match.look(any_source, 5), std::nullopt);
  EXPECT_FALSE(wires.failed());
}

TEST_F(MatchProtocol, a_payload_that_does_not_fit_its_hash_ends_the_group) {
  for (const bool awaited : {false, true}) {
    FakeTransport fresh(0, 3);
    rondo::base::SimScheduler clock(1);
    rondo::base::Event bell(clock);
    Progress progress(bell, 1);
    Match other(progress, fresh, small);
    Ints got(4);
    Receiving receiving;
    if (awaited) other.start(receiving, 1, ints(4, 5), std::as_writable_bytes(std::span(got)));
    const Ints values = numbers(1, 4);
    for (const bool right : {true, false}) {
      Header hashed = message(FrameKind::eager, 0, values);
      hashed.payload_hash = payload_hash(std::as_bytes(std::span(values))) + (right ? 0 : 1);
      const Landing landing = other.arriving(1, hashed);
      std::memcpy(landing.memory.data(), values.data(), 16);
      other.arrived(1, hashed);
      EXPECT_EQ(fresh.failed(), !right);
    }
    EXPECT_EQ(fresh.failure()->text, "the payload from rank 1 was corrupted on its way (16 bytes)");
    other.cancel(receiving);
  }
}

TEST_F(MatchProtocol, nonsense_is_a_broken_protocol) {
  const auto broken_by = [&](const Header& frame) {
    FakeTransport fresh(0, 3);
    rondo::base::SimScheduler clock(1);
    rondo::base::Event bell(clock);
    Progress progress(bell, 1);
    Match other(progress, fresh, small);
    EXPECT_EQ(other.arriving(1, frame).verdict, Verdict::drain);
    other.arrived(1, frame);
    return fresh.failed() ? fresh.failure()->text : std::string();
  };
  const std::string start = "rank 1 broke the protocol: ";
  const Ints values = numbers(1, 4);
  Header frame = message(FrameKind::eager, 0, values);
  frame.bytes = 15;
  EXPECT_EQ(broken_by(frame), start + "a message whose bytes are not those of its shape");
  frame = message(FrameKind::eager, 0, values);
  frame.dims.value[0] = 5;
  EXPECT_EQ(broken_by(frame), start + "a message whose bytes are not those of its shape");
  EXPECT_EQ(broken_by(header(FrameKind::offer, 0, ints(4, 5))), start + "a malformed offer");
  EXPECT_EQ(broken_by(message(FrameKind::offer, 1, values)), start + "a malformed offer");
  EXPECT_EQ(broken_by(message(FrameKind::data, 1, values)), start + "data that nobody accepted");
  EXPECT_EQ(broken_by(header(FrameKind::accept, 9)), start + "an answer to an offer that was not made");
  Envelope amount;
  amount.bytes = 1;
  EXPECT_EQ(broken_by(header(FrameKind::credit, 0, amount)), start + "credit for more than was sent");
  frame = header(FrameKind::refuse, 1);
  frame.bytes = most_words + 1;
  EXPECT_EQ(broken_by(frame), start + "a refusal of 1025 bytes");
  EXPECT_EQ(broken_by(header(FrameKind::part, 0)), start + "frame kind 4 on the message lane");
  EXPECT_EQ(broken_by(header(FrameKind::presence, 0)), start + "frame kind 2 on the message lane");
}

}  // namespace
