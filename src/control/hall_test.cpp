#include "control/hall.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "base/problem.hpp"
#include "base/sim_scheduler.hpp"

namespace {

using namespace rondo::control;
using namespace std::chrono_literals;
using rondo::base::Deadline;
using rondo::base::Fd;
using rondo::base::Problem;
using State = Handshake::State;

constexpr rondo::base::Duration plenty = 30s;

Identity identity(int rank) { return {.rank = rank, .size = 4, .job = {}, .secret = "s"}; }

/// Both ends of a connection.
struct Ends {
  Ends() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    outside = rondo::net::SocketStream(Fd(fds[0]));
    inside = Fd(fds[1]);
  }
  rondo::net::SocketStream outside{Fd()};
  Fd inside;
};

/// The hall of rank 0, on a clock that the test moves.
class Hall : public testing::Test {
 protected:
  explicit Hall(std::size_t most_pending = 4)
      : hall_(
            identity(0), clock_, [this](const Hello& guest) { return judge_(guest); },
            [this](const std::string& line) { reports_.push_back(line); },
            HandshakeHall::Options{most_pending, 2s}) {}

  rondo::net::SocketStream visit() {
    Ends ends;
    hall_.take(std::move(ends.inside), {});
    return std::move(ends.outside);
  }
  /// Moves the handshake on, on both sides, until nothing moves.
  void converse(Handshake& opener, rondo::net::SocketStream& stream) {
    for (int i = 0; i < 8; ++i) {
      (void)drive(opener, stream);
      hall_.turn();
    }
  }
  bool reported(std::string_view part) const {
    for (const std::string& line : reports_)
      if (line.find(part) != std::string::npos) return true;
    return false;
  }

  rondo::base::SimScheduler clock_{1};
  std::function<Refusal(const Hello&)> judge_ = [](const Hello&) { return Refusal(); };
  std::vector<std::string> reports_;
  HandshakeHall hall_;
};

TEST_F(Hall, lets_in_who_belongs) {
  Hello mine = hello_of(identity(3), Purpose::control);
  mine.group = 77;
  Handshake opener(Handshake::Role::opener, mine, "s");
  auto stream = visit();
  converse(opener, stream);
  EXPECT_EQ(opener.state(), State::done);
  const auto guests = hall_.take_guests();
  ASSERT_EQ(guests.size(), 1U);
  EXPECT_EQ(guests.front().hello, mine);
  EXPECT_EQ(hall_.pending(), 0U);
  EXPECT_TRUE(hall_.take_guests().empty());
  EXPECT_TRUE(reports_.empty());
}

TEST_F(Hall, silent_ones_are_dropped_at_their_own_limits) {
  const auto first = visit();
  clock_.sleep_until(clock_.now() + 1500ms);
  const auto second = visit();
  EXPECT_EQ(hall_.pending(), 2U);
  EXPECT_EQ(hall_.next_limit(), clock_.now() + 500ms);
  clock_.sleep_until(clock_.now() + 499ms);
  hall_.turn();
  EXPECT_EQ(hall_.pending(), 2U);
  clock_.sleep_until(clock_.now() + 1ms);
  hall_.turn();
  EXPECT_EQ(hall_.pending(), 1U);
  EXPECT_TRUE(reported("not over at the limit"));
  clock_.sleep_until(clock_.now() + 1500ms);
  hall_.turn();
  EXPECT_EQ(hall_.pending(), 0U);
  EXPECT_EQ(hall_.next_limit(), rondo::base::never);
}

TEST_F(Hall, bytes_one_by_one_do_not_move_the_limit) {
  auto stream = visit();
  Handshake opener(Handshake::Role::opener, hello_of(identity(3), Purpose::control), "s");
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(stream.writev(opener.outgoing().first(1), {}).bytes, 1U);
    opener.sent(1);
    hall_.turn();
    clock_.sleep_until(clock_.now() + 100ms);
  }
  hall_.turn();
  EXPECT_EQ(hall_.pending(), 0U);
}

TEST_F(Hall, oldest_silent_one_makes_room) {
  std::vector<rondo::net::SocketStream> strangers;
  Handshake opener(Handshake::Role::opener, hello_of(identity(3), Purpose::control), "s");
  auto half = visit();
  ASSERT_EQ(drive(opener, half), Turn::blocked);
  hall_.turn();  // has said hello: not one of the silent
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(hall_.has_room());
    strangers.push_back(visit());
    EXPECT_LE(hall_.pending(), 4U);
  }
  EXPECT_TRUE(reported("said nothing"));
  converse(opener, half);
  EXPECT_EQ(opener.state(), State::done);
}

TEST_F(Hall, who_has_said_hello_keeps_its_place) {
  std::vector<rondo::net::SocketStream> streams;
  for (int rank = 0; rank < 4; ++rank) {
    streams.push_back(visit());
    Handshake opener(Handshake::Role::opener, hello_of(identity(3), Purpose::control), "s");
    ASSERT_EQ(drive(opener, streams.back()), Turn::blocked);
    hall_.turn();
  }
  EXPECT_FALSE(hall_.has_room());
  clock_.sleep_until(clock_.now() + 2s);
  hall_.turn();
  EXPECT_TRUE(hall_.has_room());
}

TEST_F(Hall, refusal_is_told_and_kept) {
  judge_ = [](const Hello& guest) {
    return Refusal{Why::unexpected, "no group " + std::to_string(guest.group)};
  };
  Hello mine = hello_of(identity(3), Purpose::message_lane);
  mine.group = 41;
  Handshake opener(Handshake::Role::opener, mine, "s");
  auto stream = visit();
  converse(opener, stream);
  ASSERT_EQ(opener.state(), State::failed);
  EXPECT_EQ(opener.refusal().text, "no group 41");
  const auto refused = hall_.take_refused();
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused.front().proven);
  EXPECT_EQ(refused.front().said, mine);
  EXPECT_EQ(refused.front().refusal.why, Why::unexpected);
  EXPECT_EQ(hall_.pending(), 1U);  // until it hangs up, or the limit
  stream.shutdown();
  hall_.turn();
  EXPECT_EQ(hall_.pending(), 0U);
}

TEST_F(Hall, garbage_is_dropped_at_once_without_an_answer) {
  auto stream = visit();
  const std::string words = "GET / HTTP/1.1\r\n";
  ASSERT_EQ(stream.writev(std::as_bytes(std::span(words)), {}).bytes, words.size());
  hall_.turn();
  EXPECT_EQ(hall_.pending(), 0U);
  EXPECT_TRUE(reported("does not speak"));
  std::byte heard{};
  EXPECT_EQ(stream.read(std::span(&heard, 1)).state, rondo::net::Moved::State::closed);
  EXPECT_TRUE(hall_.take_refused().empty());
}

TEST_F(Hall, introduce_ends_in_the_acceptors_words_or_at_the_limit) {
  Ends ends;
  Deadline soon(rondo::base::real_scheduler(), 50ms);
  try {
    (void)introduce(ends.outside, hello_of(identity(2), Purpose::control), "s", soon);
    FAIL();
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), rondo::ErrorKind::timed_out);
  }
  Ends again;
  std::thread acceptor([&] {
    HandshakeHall hall(identity(0), rondo::base::real_scheduler(), judge_, nullptr);
    hall.take(std::move(again.inside), {});
    while (hall.pending() > 0) {
      hall.turn();
      rondo::base::real_scheduler().yield();
    }
  });
  Deadline deadline(rondo::base::real_scheduler(), plenty);
  try {
    (void)introduce(again.outside, hello_of(identity(2), Purpose::control), "other", deadline);
    ADD_FAILURE();
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), rondo::ErrorKind::unavailable);
    EXPECT_NE(std::string(problem.what()).find("rank 2 and rank 0 hold different secrets"),
              std::string::npos);
  }
  again.outside.shutdown();
  acceptor.join();
}

}  // namespace
