#include "base/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

namespace {

using rondo::base::Fd;

int open_one() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }
bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, closes_what_it_owns) {
  int number = -1;
  {
    const Fd fd(open_one());
    number = fd.get();
    ASSERT_TRUE(fd);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, none_is_false_and_closes_nothing) {
  Fd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
  none.reset();
  EXPECT_FALSE(none);

  Fd zero(0);
  EXPECT_TRUE(zero);  // a descriptor like any other
  (void)zero.release();
}

TEST(Fd, moves_hand_over) {
  Fd first(open_one());
  const int number = first.get();
  Fd second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is left is the test
  EXPECT_EQ(second.get(), number);

  Fd third(open_one());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(third.get(), number);
  EXPECT_TRUE(is_open(number));
  EXPECT_FALSE(is_open(replaced));

  Fd& same = third;
  third = std::move(same);
  EXPECT_EQ(third.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Fd, release_gives_it_away) {
  Fd fd(open_one());
  const int number = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(number));
  fd = Fd(number);
  fd.reset();
  EXPECT_FALSE(fd);
  EXPECT_FALSE(is_open(number));
}

TEST(ErrorWords, name_the_limit_when_descriptors_have_run_out) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string words = rondo::base::error_words(EMFILE);
  EXPECT_NE(words.find("the limit of this process is " + std::to_string(limit.rlim_cur)), std::string::npos)
      << words;
  EXPECT_EQ(rondo::base::error_words(ENOENT).find("limit"), std::string::npos);
}

}  // namespace
