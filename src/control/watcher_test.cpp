#include "control/test_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <string>

#include "base/codec.hpp"
#include "base/problem.hpp"

namespace {

using namespace rondo::control;
using namespace rondo::control::test;
using namespace std::chrono_literals;
using rondo::ErrorKind;
using rondo::Failure;
using rondo::base::Deadline;
using rondo::base::Problem;
using rondo::net::SocketStream;

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int each : values) bytes.push_back(static_cast<std::byte>(each));
  return bytes;
}

/// "ended" as it goes over a control connection.
std::vector<std::byte> ended_frame(std::uint64_t group, std::uint8_t kind, std::int32_t rank,
                                   std::string_view text) {
  std::vector<std::byte> frame(3 + 13 + text.size());
  rondo::base::Writer writer(frame);
  writer.put(std::uint8_t{1});
  writer.put(static_cast<std::uint16_t>(13 + text.size()));
  writer.put(group);
  writer.put(kind);
  writer.put(rank);
  writer.put(std::as_bytes(std::span(text.data(), text.size())));
  return frame;
}

std::uint8_t number_of(ErrorKind kind) { return static_cast<std::uint8_t>(kind); }

// --- connections -----------------------------------------------------------------------------------------

TEST(Watcher, delivers_each_connection_to_who_awaits_it) {
  Process process(0);
  struct Call {
    Purpose purpose;
    std::uint64_t group;
    int rank;
  };
  const std::array<Call, 5> calls{{{Purpose::message_lane, 7, 1},
                                   {Purpose::collective_lane, 7, 1},
                                   {Purpose::message_lane, 8, 1},
                                   {Purpose::message_lane, 7, 2},
                                   {Purpose::control, 0, 1}}};
  std::vector<SocketStream> outside;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    outside.push_back(open(calls[i].rank, process, calls[i].purpose, calls[i].group));
    write(outside.back(), bytes_of({static_cast<int>(40 + i)}));
  }
  for (std::size_t i = calls.size(); i-- > 0;) {
    Deadline deadline = ample();
    const SocketStream inside =
        process.watcher->await(calls[i].purpose, calls[i].group, calls[i].rank, deadline);
    std::array<std::byte, 1> mark{};
    rondo::net::read_all(inside.fd(), mark, deadline);
    EXPECT_EQ(mark[0], static_cast<std::byte>(40 + i));
  }
}

TEST(Watcher, a_connection_may_be_awaited_before_it_comes) {
  Process process(0);
  const auto awaiting = [&](std::uint64_t group) {
    return std::async(std::launch::async, [&process, group] {
      Deadline deadline = ample();
      const SocketStream inside = process.watcher->await(Purpose::message_lane, group, 4, deadline);
      std::array<std::byte, 1> mark{};
      rondo::net::read_all(inside.fd(), mark, deadline);
      return mark[0];
    });
  };
  auto second = awaiting(2);
  auto first = awaiting(1);
  const SocketStream one = open(4, process, Purpose::message_lane, 1);
  const SocketStream two = open(4, process, Purpose::message_lane, 2);
  write(one, bytes_of({11}));
  write(two, bytes_of({22}));
  EXPECT_EQ(first.get(), std::byte{11});
  EXPECT_EQ(second.get(), std::byte{22});
}

TEST(Watcher, await_tells_who_did_not_come) {
  Process process(0);
  const SocketStream other = open(2, process, Purpose::message_lane, 9);
  Deadline deadline = within(20ms);
  try {
    (void)process.watcher->await(Purpose::message_lane, 9, 3, deadline);
    ADD_FAILURE() << "nobody came, and yet";
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::timed_out);
    EXPECT_EQ(problem.peer(), 3);
    EXPECT_NE(std::string(problem.what()).find("rank 3"), std::string::npos) << problem.what();
  }
}

TEST(Watcher, refuses_what_nobody_waits_for) {
  Process process(2);
  const auto refused = [&](Purpose purpose, int to) {
    Deadline deadline = ample();
    SocketStream stream(rondo::net::connect(process.where, deadline));
    Hello hello = hello_of(identity(1), purpose);
    hello.to = to;
    try {
      introduce(stream, hello, "s", deadline);
      ADD_FAILURE() << "it was let in";
    } catch (const Problem& problem) {
      EXPECT_EQ(problem.kind(), ErrorKind::unavailable) << problem.what();
    }
  };
  refused(Purpose::rendezvous, 2);
  refused(Purpose::control, 3);
  EXPECT_NO_THROW((void)controlled(process, 1));
}

TEST(Watcher, strangers_disturb_nobody) {
  Ear ear;
  Process process(0);
  process.watcher->enroll(1, ear);
  const SocketStream before = controlled(process, 1);
  std::vector<SocketStream> strangers;
  for (int i = 0; i < 80; ++i) {  // more than there are places
    Deadline deadline = ample();
    strangers.emplace_back(rondo::net::connect(process.where, deadline));
    if (i % 2 == 0) {
      (void)strangers.back().writev(bytes_of({'G', 'E', 'T', ' ', '/', ' ', i, i, i, i, i, i, i, i}), {});
    }
    if (i % 3 == 0) strangers.back().shutdown();
  }
  const SocketStream after = controlled(process, 2);
  write(before, ended_frame(1, number_of(ErrorKind::aborted), 1, "still heard"));
  ASSERT_TRUE(ear.hears_ended(1));
  EXPECT_EQ(ear.causes(), (std::vector<Failure>{{ErrorKind::aborted, 1, "still heard"}}));
  EXPECT_TRUE(ear.losses().empty());
  EXPECT_GT(process.reported(), 0U);
}

// --- causes ----------------------------------------------------------------------------------------------

TEST(Watcher, announce_reaches_the_group_on_the_other_side) {
  Ear there;
  Ear elsewhere;
  Ear here;
  Process zero(0);
  Process five(5);
  meet(zero, five);
  zero.watcher->enroll(70, here);
  five.watcher->enroll(70, there);
  five.watcher->enroll(71, elsewhere);
  const Failure cause{ErrorKind::mismatch, 3, "rank 3 brought 4 rows, rank 1 brought 5"};
  zero.watcher->announce(70, std::array{1, 5}, cause);  // nobody knows rank 1
  ASSERT_TRUE(there.hears_ended(1));
  const Failure back{ErrorKind::timed_out, 0, ""};
  five.watcher->announce(70, std::array{0}, back);
  ASSERT_TRUE(here.hears_ended(1));
  EXPECT_EQ(there.causes(), std::vector{cause});
  EXPECT_EQ(here.causes(), std::vector{back});
  EXPECT_TRUE(elsewhere.causes().empty());
}

TEST(Watcher, a_group_hears_what_came_before_it_enrolled) {
  Ear late;
  Ear early;
  Process zero(0);
  Process one(1);
  meet(zero, one);
  one.watcher->enroll(6, early);
  const Failure first{ErrorKind::disconnected, 2, "the first"};
  zero.watcher->announce(5, std::array{1}, first);
  zero.watcher->announce(5, std::array{1}, {ErrorKind::aborted, 0, "the second"});
  zero.watcher->announce(6, std::array{1}, {ErrorKind::aborted, 0, "a mark"});
  ASSERT_TRUE(early.hears_ended(1));  // so what was said before it has come too
  one.watcher->enroll(5, late);
  EXPECT_EQ(late.causes(), std::vector{first});
}

TEST(Watcher, a_group_that_has_withdrawn_hears_nothing) {
  Ear gone;
  Ear present;
  Process zero(0);
  Process one(1);
  meet(zero, one);
  one.watcher->enroll(5, gone);
  one.watcher->enroll(6, present);
  one.watcher->withdraw(5);
  zero.watcher->announce(5, std::array{1}, {ErrorKind::aborted, 0, "unheard"});
  zero.watcher->announce(6, std::array{1}, {ErrorKind::aborted, 0, "heard"});
  ASSERT_TRUE(present.hears_ended(1));
  EXPECT_TRUE(gone.causes().empty());
}

TEST(Watcher, a_long_text_is_cut) {
  Ear ear;
  Process zero(0);
  Process one(1);
  meet(zero, one);
  one.watcher->enroll(5, ear);
  std::string text;
  for (int i = 0; text.size() < 100'000; ++i) text += std::to_string(i) + ' ';
  zero.watcher->announce(5, std::array{1}, {ErrorKind::aborted, 0, text});
  zero.watcher->announce(5, std::array{1}, {ErrorKind::aborted, 0, text.substr(0, 2048)});
  zero.watcher->announce(5, std::array{1}, {ErrorKind::aborted, 0, "short"});
  ASSERT_TRUE(ear.hears_ended(3));
  const auto causes = ear.causes();
  EXPECT_EQ(causes[0].text, text.substr(0, 2048));
  EXPECT_EQ(causes[1].text, text.substr(0, 2048));
  EXPECT_EQ(causes[2].text, "short");
}

TEST(Watcher, announce_does_not_wait_for_who_does_not_read) {
  constexpr int count = 8000;  // more than the system keeps for a connection
  Process process(0);
  const SocketStream deaf = controlled(process, 1);
  const auto text_of = [](int i) { return std::string(2000, static_cast<char>('a' + i % 23)); };
  for (int i = 0; i < count; ++i)
    process.watcher->announce(3, std::array{1}, {ErrorKind::aborted, i, text_of(i)});
  // All of it comes in order once it is read.
  std::size_t wrong = 0;
  for (int i = 0; i < count; ++i) {
    const auto expected = ended_frame(3, number_of(ErrorKind::aborted), i, text_of(i));
    std::vector<std::byte> frame(expected.size());
    Deadline deadline = ample();
    rondo::net::read_all(deaf.fd(), frame, deadline);
    wrong += frame == expected ? 0U : 1U;
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(Watcher, frames_may_come_in_pieces) {
  Ear ear;
  Process process(0);
  process.watcher->enroll(5, ear);
  const SocketStream outside = controlled(process, 1);
  auto bytes = ended_frame(5, number_of(ErrorKind::aborted), 1, "one");
  const auto second = ended_frame(5, number_of(ErrorKind::mismatch), 2, "two");
  bytes.insert(bytes.end(), second.begin(), second.end());
  for (const std::byte each : bytes) write(outside, std::span(&each, 1));
  ASSERT_TRUE(ear.hears_ended(2));
  EXPECT_EQ(ear.causes(),
            (std::vector<Failure>{{ErrorKind::aborted, 1, "one"}, {ErrorKind::mismatch, 2, "two"}}));
}

// --- ends ------------------------------------------------------------------------------------------------

TEST(Watcher, who_ends_without_a_word_is_lost_and_who_leaves_is_not) {
  Ear ear;
  Ear late;
  Process zero(0);
  zero.watcher->enroll(5, ear);
  SocketStream silent = controlled(zero, 2);
  {
    Process one(1);
    meet(zero, one);
  }  // says that it leaves
  silent.shutdown();
  ASSERT_TRUE(ear.hears_lost(1));
  zero.watcher->enroll(6, late);  // hears of the dead at once
  for (const Ear* each : {&ear, &late}) {
    const auto losses = each->losses();
    ASSERT_EQ(losses.size(), 1U);
    EXPECT_EQ(losses[0].first, 2);
    EXPECT_NE(losses[0].second.find("process"), std::string::npos) << losses[0].second;
    EXPECT_TRUE(each->causes().empty());
  }
  zero.watcher->announce(5, std::array{1, 2}, {ErrorKind::aborted, 0, "to nobody"});
}

TEST(Watcher, the_last_words_are_heard_before_the_loss) {
  Ear ear;
  Process process(0);
  process.watcher->enroll(5, ear);
  SocketStream outside = controlled(process, 3);
  write(outside, ended_frame(5, number_of(ErrorKind::aborted), 3, "last words"));
  outside.shutdown();
  ASSERT_TRUE(ear.hears_lost(1));
  EXPECT_EQ(ear.causes(), (std::vector<Failure>{{ErrorKind::aborted, 3, "last words"}}));
}

TEST(Watcher, garbage_on_a_control_connection_counts_as_lost) {
  const std::vector<std::vector<std::byte>> garbage = {
      bytes_of({9, 0, 0}),                          // no such word
      bytes_of({1, 0xff, 0xff}),                    // longer than any
      bytes_of({1, 0, 0}),                          // the end of no group
      bytes_of({0, 0, 0}),                          //
      ended_frame(5, 200, 1, "no such kind"),       //
      bytes_of({'H', 'T', 'T', 'P', '/', '1', 1}),  // another protocol
  };
  auto cut = ended_frame(5, number_of(ErrorKind::aborted), 1, "");
  cut.pop_back();
  cut[1] = std::byte{12};
  for (std::size_t i = 0; i <= garbage.size(); ++i) {
    SCOPED_TRACE(i);
    Ear ear;
    Process process(0);
    process.watcher->enroll(5, ear);
    const SocketStream sane = controlled(process, 2);
    const SocketStream outside = controlled(process, 1);
    write(outside, i < garbage.size() ? garbage[i] : cut);
    ASSERT_TRUE(ear.hears_lost(1));
    EXPECT_EQ(ear.losses().front().first, 1);
    EXPECT_TRUE(ear.causes().empty());
    write(sane, ended_frame(5, number_of(ErrorKind::aborted), 2, "others go on"));
    ASSERT_TRUE(ear.hears_ended(1));
    EXPECT_EQ(ear.losses().size(), 1U);
  }
}

}  // namespace
