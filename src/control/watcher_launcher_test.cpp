// What a process that has a launcher makes of the end of another.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "control/test_support.hpp"

namespace {

using namespace rondo::control;
using namespace rondo::control::test;
using namespace std::chrono_literals;
using rondo::net::SocketStream;

/// A rank and its launcher, which know each other.
class Launched : public testing::Test {
 protected:
  Launched() {
    launcher_.watcher->watch_all_who_come();
    rank_.watcher->enroll(5, ear_);
    rank_.watcher->watch(no_rank, open(0, launcher_, Purpose::control));
    // Until the launcher has taken the connection, nobody is told.
    const SocketStream other = controlled(rank_, 1);
    while (ear_.losses().empty()) {
      launcher_.watcher->tell_lost(1, "known");
      std::this_thread::yield();
    }
  }

  Ear ear_;
  Process rank_{0};
  Process launcher_{no_rank};
};

TEST_F(Launched, the_launchers_word_goes_before_what_a_process_sees_itself) {
  // The launcher has 150 ms; on a busy machine this test may be too late, but not four times.
  bool told = false;
  for (int peer = 2; peer < 6 && !told; ++peer) {
    SocketStream outside = controlled(rank_, peer);
    outside.shutdown();
    std::this_thread::sleep_for(20ms);  // long enough to be seen
    launcher_.watcher->tell_lost(peer, "killed by a falling piano");
    ASSERT_TRUE(ear_.hears_lost(static_cast<std::size_t>(peer)));
    EXPECT_EQ(ear_.losses().back().first, peer);
    told = ear_.losses().back().second == "killed by a falling piano";
  }
  EXPECT_TRUE(told);
}

TEST_F(Launched, a_silent_launcher_is_not_waited_for_without_end) {
  controlled(rank_, 2).shutdown();
  ASSERT_TRUE(ear_.hears_lost(2));
  EXPECT_EQ(ear_.losses().back().first, 2);
  EXPECT_NE(ear_.losses().back().second.find("process"), std::string::npos);
}

TEST_F(Launched, who_has_left_is_not_lost_whatever_the_launcher_says) {
  {
    Process two(2);
    meet(rank_, two);
  }  // says that it leaves
  launcher_.watcher->tell_lost(2, "exited with status 3");
  SocketStream three = controlled(rank_, 3);
  launcher_.watcher->tell_lost(3, "exited with status 4");
  ASSERT_TRUE(ear_.hears_lost(2));
  EXPECT_EQ(ear_.losses().back(), (std::pair{3, std::string("exited with status 4")}));
}

}  // namespace
