// Message wires, which a watcher makes when somebody wants one.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/problem.hpp"
#include "control/test_support.hpp"

namespace {

using namespace rondo::control;
using namespace rondo::control::test;
using namespace std::chrono_literals;
using rondo::ErrorKind;
using rondo::Failure;
using rondo::base::Deadline;
using rondo::net::SocketStream;

void say(const SocketStream& stream, int mark) {
  const std::array<std::byte, 1> bytes{static_cast<std::byte>(mark)};
  write(stream, bytes);
}

int hear(const SocketStream& stream) {
  std::array<std::byte, 1> bytes{};
  Deadline deadline = ample();
  rondo::net::read_all(stream.fd(), bytes, deadline);
  return std::to_integer<int>(bytes[0]);
}

/// The other end has closed, within ample time; nothing came.
bool is_closed(SocketStream& stream) {
  std::array<std::byte, 1> bytes{};
  Deadline deadline = ample();
  return rondo::net::wait_ready(stream.fd(), rondo::net::Ready::read, deadline) &&
         stream.read(bytes).state == rondo::net::Moved::State::closed;
}

/// What each was told so far has been acted on by the other.
void settle(Process& from, Process& to) {
  static std::uint64_t marks = 1000;
  Ear ear;
  const std::uint64_t group = ++marks;
  to.watcher->enroll(group, ear);
  from.watcher->announce(group, std::array{to.rank}, {ErrorKind::aborted, from.rank, "a mark"});
  EXPECT_TRUE(ear.hears_ended(1));
  to.watcher->withdraw(group);
}

TEST(WatcherWires, one_wire_comes_whoever_wants_it_and_however_often) {
  for (const bool lower_wants : {false, true}) {
    for (const bool higher_wants : {false, true}) {
      if (!lower_wants && !higher_wants) continue;
      SCOPED_TRACE(testing::Message() << lower_wants << higher_wants);
      Ear low;
      Ear high;
      Process two(2);
      Process four(4);
      meet(two, four);
      two.watcher->enroll(9, low);
      four.watcher->enroll(9, high);
      for (int i = 0; i < 3; ++i) {
        if (lower_wants) two.watcher->want_wire(9, 4);
        if (higher_wants) four.watcher->want_wire(9, 2);
      }
      ASSERT_TRUE(low.hears_connected(1));
      ASSERT_TRUE(high.hears_connected(1));
      settle(two, four);
      if (lower_wants) two.watcher->want_wire(9, 4);  // too late: it is there
      settle(two, four);
      const auto at_low = low.wires();
      const auto at_high = high.wires();
      ASSERT_EQ(at_low.size(), 1U);
      ASSERT_EQ(at_high.size(), 1U);
      EXPECT_EQ(at_low[0].first, 4);
      EXPECT_EQ(at_high[0].first, 2);
      say(*at_low[0].second, 17);
      say(*at_high[0].second, 23);
      EXPECT_EQ(hear(*at_high[0].second), 17);
      EXPECT_EQ(hear(*at_low[0].second), 23);
    }
  }
}

TEST(WatcherWires, groups_and_ranks_get_their_own) {
  Ear low7;
  Ear low8;
  Ear high7;
  Ear high8;
  Process one(1);
  Process three(3);
  meet(one, three);
  one.watcher->enroll(7, low7);
  one.watcher->enroll(8, low8);
  three.watcher->enroll(7, high7);
  three.watcher->enroll(8, high8);
  one.watcher->want_wire(8, 3);
  three.watcher->want_wire(7, 1);
  for (Ear* each : {&low7, &low8, &high7, &high8}) ASSERT_TRUE(each->hears_connected(1));
  say(*high7.wires()[0].second, 7);
  say(*high8.wires()[0].second, 8);
  EXPECT_EQ(hear(*low8.wires()[0].second), 8);
  EXPECT_EQ(hear(*low7.wires()[0].second), 7);
}

TEST(WatcherWires, what_comes_before_the_group_waits_for_it) {
  Ear low;
  Ear high;
  Process one(1);
  Process three(3);
  meet(one, three);
  one.watcher->enroll(7, low);
  one.watcher->want_wire(7, 3);  // the other one has no such group yet, and calls nevertheless
  ASSERT_TRUE(low.hears_connected(1));
  say(*low.wires()[0].second, 71);
  one.watcher->tell_left(8, 3);
  settle(one, three);
  three.watcher->enroll(7, high);
  ASSERT_TRUE(high.hears_connected(1));
  EXPECT_EQ(hear(*high.wires()[0].second), 71);
  EXPECT_TRUE(high.who_left().empty());
  Ear eight;
  three.watcher->enroll(8, eight);
  EXPECT_EQ(eight.who_left(), std::vector{1});
  EXPECT_TRUE(eight.wires().empty());
}

TEST(WatcherWires, leaving_is_told_to_the_group_it_concerns) {
  Ear seven;
  Ear eight;
  Process one(1);
  Process three(3);
  meet(one, three);
  one.watcher->enroll(7, seven);
  one.watcher->enroll(8, eight);
  three.watcher->tell_left(7, 1);
  ASSERT_TRUE(seven.hears_left(1));
  EXPECT_EQ(seven.who_left(), std::vector{3});
  settle(three, one);
  EXPECT_TRUE(eight.who_left().empty());
}

TEST(WatcherWires, a_group_that_is_over_gets_and_keeps_none) {
  Ear low;
  Ear high;
  Process one(1);
  Process three(3);
  meet(one, three);
  one.watcher->enroll(7, low);
  one.watcher->enroll(8, low);
  SocketStream early = open(5, one, Purpose::message_lane, 9);
  say(early, 1);
  one.watcher->withdraw(7);
  one.watcher->withdraw(9);  // had never enrolled, and its connection had come
  EXPECT_TRUE(is_closed(early));
  SocketStream late = open(5, one, Purpose::message_lane, 7);
  EXPECT_TRUE(is_closed(late));
  SocketStream collective = open(5, one, Purpose::collective_lane, 7);
  EXPECT_TRUE(is_closed(collective));
  three.watcher->enroll(7, high);
  three.watcher->want_wire(7, 1);  // welcome, and closed at once
  ASSERT_TRUE(high.hears_connected(1));
  EXPECT_TRUE(is_closed(*high.wires()[0].second));
  // Nor does anybody call for it.
  three.watcher->withdraw(8);
  one.watcher->want_wire(8, 3);
  three.watcher->tell_left(8, 1);
  ASSERT_TRUE(low.hears_left(1));
  EXPECT_TRUE(low.wires().empty());
}

TEST(WatcherWires, a_second_one_does_not_reach_the_first) {
  Ear low;
  Process one(1);
  one.watcher->enroll(7, low);
  const SocketStream first = open(5, one, Purpose::message_lane, 7);
  const SocketStream second = open(5, one, Purpose::message_lane, 7);
  say(second, 2);
  say(first, 1);
  ASSERT_TRUE(low.hears_connected(2));  // the group decides: see Framed
  EXPECT_EQ(hear(*low.wires()[0].second), 1);
}

TEST(WatcherWires, nobody_listens_any_more) {
  Ear high;
  Process three(3);
  rondo::net::Address nowhere;
  {
    const rondo::net::Listener listener(loopback());
    nowhere = listener.bound();
  }
  const SocketStream control = controlled(three, 1, nowhere);
  three.watcher->enroll(7, high);
  three.watcher->want_wire(7, 1);
  ASSERT_TRUE(high.hears_unconnected(1));
  EXPECT_EQ(high.refusals()[0].first, 1);
  EXPECT_NE(high.refusals()[0].second.find(to_string(nowhere)), std::string::npos)
      << high.refusals()[0].second;
}

TEST(WatcherWires, who_hangs_up_in_the_handshake_is_called_again) {
  Ear high;
  Process three(3);
  rondo::net::Listener listener(loopback());
  const SocketStream control = controlled(three, 1, listener.bound());
  three.watcher->enroll(7, high);
  three.watcher->want_wire(7, 1);
  Deadline deadline = ample();
  const auto accepted = [&] {
    EXPECT_TRUE(rondo::net::wait_ready(listener.fd(), rondo::net::Ready::read, deadline));
    return SocketStream(listener.accept());
  };
  for (int i = 0; i < 4; ++i) (void)accepted();  // and hung up
  SocketStream stream = accepted();
  Handshake handshake(Handshake::Role::acceptor, hello_of(identity(1), Purpose::rendezvous), "s");
  for (Turn turn = Turn::blocked; turn != Turn::over; turn = drive(handshake, stream)) {
    if (turn == Turn::waits) handshake.welcome();
    ASSERT_NE(turn, Turn::closed);
    if (turn == Turn::blocked) {
      ASSERT_TRUE(rondo::net::wait_ready(stream.fd(), rondo::net::Ready::read, deadline));
    }
  }
  const Hello& hello = *handshake.peer();
  EXPECT_EQ(hello.purpose, Purpose::message_lane);
  EXPECT_EQ(hello.group, 7U);
  EXPECT_EQ(hello.rank, 3);
  EXPECT_EQ(hello.to, 1);
  ASSERT_TRUE(high.hears_connected(1));
  say(*high.wires()[0].second, 33);
  EXPECT_EQ(hear(stream), 33);
  EXPECT_TRUE(high.refusals().empty());
}

// Nobody answers: the group that withdraws hangs up, and the watcher does not spin meanwhile.
TEST(WatcherWires, a_call_that_is_not_answered_ends_with_its_group) {
  Ear high;
  Process three(3);
  rondo::net::Listener listener(loopback());
  const SocketStream control = controlled(three, 1, listener.bound());
  three.watcher->enroll(7, high);
  three.watcher->want_wire(7, 1);
  Deadline deadline = ample();
  ASSERT_TRUE(rondo::net::wait_ready(listener.fd(), rondo::net::Ready::read, deadline));
  SocketStream stream(listener.accept());
  std::array<std::byte, Handshake::hello_bytes> hello{};
  rondo::net::read_all(stream.fd(), hello, deadline);
  EXPECT_TRUE(high.wires().empty());
  three.watcher->withdraw(7);
  EXPECT_TRUE(is_closed(stream));
  EXPECT_TRUE(high.refusals().empty());
}

}  // namespace
