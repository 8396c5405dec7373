#include "rondo/error.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>

#include "base/check.hpp"

namespace {

using rondo::Error;
using rondo::ErrorKind;

TEST(Error, carries_its_context_through_copies) {
  const Error error(ErrorKind::timed_out, "recv on rank 3 of 8 (sim): no message from rank 5",
                    {.operation = "recv", .rank = 3, .peer = 5, .elapsed = std::chrono::milliseconds(70)});
  const Error copy = error;  // NOLINT(performance-unnecessary-copy-initialization): the copy is the test
  EXPECT_EQ(copy.kind(), ErrorKind::timed_out);
  EXPECT_STREQ(copy.what(), "recv on rank 3 of 8 (sim): no message from rank 5");
  EXPECT_EQ(copy.operation(), "recv");
  EXPECT_EQ(copy.rank(), 3);
  EXPECT_EQ(copy.peer(), 5);
  EXPECT_EQ(copy.elapsed(), std::chrono::milliseconds(70));
  static_assert(std::is_nothrow_copy_constructible_v<Error>);
}

TEST(Error, fields_that_do_not_apply_hold_their_default) {
  const Error error(ErrorKind::aborted, "enough");
  EXPECT_EQ(error.operation(), "");
  EXPECT_EQ(error.rank(), -1);
  EXPECT_EQ(error.peer(), -1);
  EXPECT_EQ(error.elapsed(), rondo::Duration::zero());
}

TEST(Error, kinds_print_as_they_are_spelled) {
  std::ostringstream out;
  for (const ErrorKind kind :
       {ErrorKind::invalid_argument, ErrorKind::unsupported, ErrorKind::unavailable, ErrorKind::disconnected,
        ErrorKind::timed_out, ErrorKind::mismatch, ErrorKind::aborted})
    out << kind << ' ';
  EXPECT_EQ(out.str(), "invalid_argument unsupported unavailable disconnected timed_out mismatch aborted ");
}

TEST(InvariantDeathTest, a_broken_one_ends_the_process_with_a_message) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const int two = 2;
  RONDO_INVARIANT(two == 2);
  EXPECT_DEATH(RONDO_INVARIANT(two == 3), "rondo: broken invariant: two == 3 .*error_test.cpp:[0-9]+");
}

}  // namespace
