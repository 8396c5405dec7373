#include "base/log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace {

using rondo::base::Log;

TEST(Log, a_warning_is_one_line) {
  std::vector<std::string> lines;
  const Log log(true, [&](const std::string& line) { lines.push_back(line); });
  log.warn("first");
  log.warn("of two\nlines");
  const std::vector<std::string> expected = {"rondo: first", "rondo: of two lines"};
  EXPECT_EQ(lines, expected);
}

TEST(Log, off_means_silent) {
  int calls = 0;
  const Log log(false, [&](const std::string&) { ++calls; });
  log.warn("nobody hears this");
  EXPECT_EQ(calls, 0);
}

TEST(Log, goes_to_stderr_by_default) {
  testing::internal::CaptureStderr();
  Log(true).warn("here");
  Log(false).warn("not here");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "rondo: here\n");
}

}  // namespace
