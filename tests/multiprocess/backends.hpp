#pragma once
/// What the suites over all backends between processes share.

#include <gtest/gtest.h>

#include <string>

#include "support/process.hpp"

namespace rondo::test {

class OverBackends : public testing::TestWithParam<Backend> {
 protected:
  static Backend backend() { return GetParam(); }
};

inline std::string name_of_case(const testing::TestParamInfo<Backend>& info) {
  return std::string(to_string(info.param));
}

#define OVER_ALL_BACKENDS(suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Over, suite, testing::ValuesIn(::rondo::test::process_backends()), \
                           ::rondo::test::name_of_case)

/// Elements that differ from each other and between ranks and rounds.
inline std::vector<std::int64_t> numbers(std::size_t count, std::int64_t salt) {
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(i) * 31 + salt * 1'000'003;
  return values;
}

/// The sum of numbers(count, round + rank) over the ranks.
inline std::vector<std::int64_t> summed_numbers(std::size_t count, std::int64_t round, int size) {
  std::vector<std::int64_t> values(count);
  for (int rank = 0; rank < size; ++rank) {
    const auto part = numbers(count, round + rank);
    for (std::size_t i = 0; i < count; ++i) values[i] += part[i];
  }
  return values;
}

/// Every later call on a group that has ended throws the first cause, at once.
inline void need_all_calls_to_fail(const Group& group, ErrorKind kind, int rank) {
  const auto cause = group.failure();
  NEED(cause && cause->kind == kind);
  NEED_OR(cause->rank == rank, cause->text);
  const int other = group.rank() == 0 ? 1 : 0;
  std::vector<std::int64_t> data(70'000);
  const auto check = [&](const std::function<void()>& call) {
    const std::int64_t begin = now_ns();
    const Error error = thrown_by(call);
    NEED_OR(error.kind() == kind && error.peer() == rank, error.what());
    NEED_OR(std::string(error.what()).find(cause->text) != std::string::npos, error.what());
    NEED(ms_since(begin) < 500);
  };
  check([&] { group.barrier(); });
  check([&] { group.all_sum(data); });
  check([&] { group.send(data, other); });
  check([&] { group.recv_into(data, other); });
  check([&] { (void)group.split(0); });
  check([&] { group.irecv(data, other).wait(); });
}

}  // namespace rondo::test
