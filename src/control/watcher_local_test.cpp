// The watcher on one host: processes are watched themselves, and the launcher knows first.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "base/codec.hpp"
#include "base/fd.hpp"
#include "control/test_support.hpp"
#include "control/watcher.hpp"
#include "net/local.hpp"
#include "net/test_support.hpp"
#include "support/process.hpp"

namespace {

using namespace rondo::control;
using namespace rondo::control::test;
using namespace std::chrono_literals;
using rondo::ErrorKind;
using rondo::Failure;
using rondo::base::Deadline;
using rondo::base::Fd;
using rondo::net::SocketStream;
using Loss = std::pair<int, std::string>;

/// A process that opens a control connection as rank 3 over a local socket, and has a child that holds the
/// connection as long as this object lives.
class Parent {
 public:
  Parent() : name_(fmt::format("rondo-watcher-{}", getpid())), listener_(rondo::net::local_name(name_)) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    const Fd held(ends[0]);
    Fd holding(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      holding.reset();
      live(held.get());
    }
    holding_ = std::move(holding);
  }
  ~Parent() {
    if (pid_ > 0) kill_it();
  }
  Parent(const Parent&) = delete;
  Parent& operator=(const Parent&) = delete;

  rondo::net::Listener take_listener() { return std::move(listener_); }
  void kill_it() {
    EXPECT_EQ(kill(pid_, SIGKILL), 0);
    EXPECT_EQ(waitpid(std::exchange(pid_, -1), nullptr, 0) > 0, true);
  }

 private:
  [[noreturn]] void live(int held) const {
    alarm(100);
    ::close(listener_.fd());
    Deadline deadline = ample();
    SocketStream stream(rondo::net::connect_locally(name_, deadline));
    Hello hello = hello_of(identity(3), Purpose::control);
    hello.to = 0;
    const pid_t child = fork();
    if (child == 0) {
      char byte = 0;
      (void)!read(held, &byte, 1);  // until the test lets go
      _exit(0);
    }
    try {
      introduce(stream, hello, "s", deadline);
    } catch (const std::exception&) {
      _exit(3);
    }
    for (;;) pause();
  }

  std::string name_;
  rondo::net::Listener listener_;
  pid_t pid_ = -1;
  Fd holding_;
};

TEST(WatcherHere, the_end_of_a_process_is_seen_though_its_child_holds_the_connection) {
  Ear ear;
  Parent parent;
  Watcher watcher(identity(0), one(parent.take_listener()), [](const std::string&) {});
  watcher.enroll(5, ear);
  Deadline deadline = ample();
  watcher.watch(3, watcher.await(Purpose::control, 0, 3, deadline), {});
  EXPECT_TRUE(ear.losses().empty());
  const auto begin = rondo::base::real_scheduler().now();
  parent.kill_it();
  ASSERT_TRUE(ear.hears_lost(1));
  EXPECT_LT(rondo::base::real_scheduler().now() - begin, 1s);
  EXPECT_EQ(ear.losses(), (std::vector<Loss>{{3, "its process has ended"}}));
}

// Between its welcome and watch() it has ended, and its number belongs to nobody any more.
TEST(WatcherHere, a_process_that_ended_before_it_was_watched_is_lost_too) {
  Ear ear;
  Parent parent;
  Watcher watcher(identity(0), one(parent.take_listener()), [](const std::string&) {});
  watcher.enroll(5, ear);
  Deadline deadline = ample();
  SocketStream connection = watcher.await(Purpose::control, 0, 3, deadline);
  parent.kill_it();
  const auto begin = rondo::base::real_scheduler().now();
  watcher.watch(3, std::move(connection), {});
  ASSERT_TRUE(ear.hears_lost(1));
  EXPECT_LT(rondo::base::real_scheduler().now() - begin, 1s);
  EXPECT_EQ(ear.losses().front().first, 3);
}

// --- the launcher
// -------------------------------------------------------------------------------------------

/// `process` is connected to the launcher as a rank is.
void join(Process& launcher, Process& process) {
  process.watcher->watch(no_rank, open(process.rank, launcher, Purpose::control), {});
}

/// The launcher takes in who comes in its own time; telling twice changes nothing.
template <class Heard>
void tell_until(Process& launcher, int rank, const std::string& why, Heard&& heard) {
  EXPECT_TRUE(rondo::test::comes_true([&] {
    launcher.watcher->tell_lost(rank, why);
    return heard();
  }));
}

TEST(WatcherHere, what_the_launcher_tells_of_a_loss_reaches_every_group_with_its_words) {
  Ear at_zero;
  Ear another;
  Ear at_one;
  Process launcher(no_rank);
  launcher.watcher->watch_all_who_come();
  Process zero(0);
  Process one(1);
  Process two(2);
  meet(zero, one);
  meet(zero, two);
  meet(one, two);
  join(launcher, zero);
  join(launcher, one);
  zero.watcher->enroll(5, at_zero);
  zero.watcher->enroll(6, another);
  one.watcher->enroll(5, at_one);
  tell_until(launcher, 2, "it was ended by signal 9", [&] {
    return !at_zero.losses().empty() && !another.losses().empty() && !at_one.losses().empty();
  });
  tell_until(launcher, 4, "nobody knows it", [] { return true; });
  tell_until(launcher, no_rank, "itself", [] { return true; });
  for (const Ear* each : {&at_zero, &another, &at_one}) {
    EXPECT_EQ(each->losses(), (std::vector<Loss>{{2, "it was ended by signal 9"}}));
    EXPECT_TRUE(each->causes().empty());
  }
  Ear late;
  zero.watcher->enroll(7, late);
  EXPECT_EQ(late.losses(), (std::vector<Loss>{{2, "it was ended by signal 9"}}));
}

/// "lost" as it goes over a control connection.
std::vector<std::byte> lost_frame(std::int32_t rank, std::string_view text) {
  std::vector<std::byte> frame(3 + 4 + text.size());
  rondo::base::Writer writer(frame);
  writer.put(std::uint8_t{3});
  writer.put(static_cast<std::uint16_t>(4 + text.size()));
  writer.put(rank);
  writer.put(std::as_bytes(std::span(text.data(), text.size())));
  return frame;
}

// Only the launcher is believed: a rank that speaks of losses is itself the lost one.
TEST(WatcherHere, a_loss_told_by_another_rank_makes_no_sense) {
  Ear ear;
  Process zero(0);
  Process two(2);
  zero.watcher->enroll(5, ear);
  meet(zero, two);
  const SocketStream liar = controlled(zero, 1);
  write(liar, lost_frame(2, "so they say"));
  ASSERT_TRUE(ear.hears_lost(1));
  EXPECT_EQ(ear.losses(),
            (std::vector<Loss>{{1, "what it says over its control connection makes no sense"}}));
  const Failure cause{ErrorKind::aborted, 2, "still here"};
  two.watcher->announce(5, std::array{0}, cause);
  ASSERT_TRUE(ear.hears_ended(1));
  EXPECT_EQ(ear.causes(), std::vector{cause});
  EXPECT_EQ(ear.losses().size(), 1U);
}

TEST(WatcherHere, the_launcher_is_lost_as_anybody_and_so_it_is_when_it_makes_no_sense) {
  const std::vector<std::vector<std::byte>> last_words = {
      {},
      std::vector<std::byte>{std::byte{3}, std::byte{3}, std::byte{0}, std::byte{1}, std::byte{0},
                             std::byte{0}}};
  for (const auto& words : last_words) {
    Ear ear;
    Process zero(0);
    zero.watcher->enroll(5, ear);
    rondo::net::testing_support::Pair wire;  // met already, as far as the watcher knows
    zero.watcher->watch(no_rank, SocketStream(std::move(wire.near)), {});
    SocketStream launcher(std::move(wire.far));
    write(launcher, words);
    if (words.empty()) launcher.shutdown();
    ASSERT_TRUE(ear.hears_lost(1));
    EXPECT_EQ(ear.losses().front().first, no_rank);
  }
}

// 2048 bytes are the most, and a character of three bytes stands across that.
TEST(WatcherHere, long_texts_are_cut_between_characters) {
  std::string text = "a";
  while (text.size() < 3000) text += "\u20ac";
  const std::string cut = text.substr(0, 2047);
  const std::string fits = "bc" + text.substr(1, 2046);
  Ear ear;
  Process launcher(no_rank);
  launcher.watcher->watch_all_who_come();
  Process zero(0);
  Process one(1);
  meet(zero, one);
  join(launcher, zero);
  zero.watcher->enroll(5, ear);
  one.watcher->announce(5, std::array{0}, {ErrorKind::aborted, 1, text});
  one.watcher->announce(5, std::array{0}, {ErrorKind::aborted, 1, fits + "tail"});
  ASSERT_TRUE(ear.hears_ended(2));
  EXPECT_EQ(ear.causes()[0].text, cut);
  EXPECT_EQ(ear.causes()[1].text, fits);
  tell_until(launcher, 1, text, [&] { return !ear.losses().empty(); });
  EXPECT_EQ(ear.losses(), (std::vector<Loss>{{1, cut}}));
}

}  // namespace
