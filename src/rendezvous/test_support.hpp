#pragma once
/// For tests of rendezvous: ranks as threads, what each of them saw, blobs that differ.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/problem.hpp"
#include "control/handshake.hpp"
#include "rendezvous/rendezvous.hpp"

namespace rondo::rendezvous {

using base::Problem;

/// Far beyond anything that a test takes when it works.
inline constexpr base::Duration plenty = std::chrono::seconds(30);

inline control::Identity identity(int rank, int size) {
  control::Identity who;
  who.rank = rank;
  who.size = size;
  who.job[5] = std::byte{0x77};
  who.secret = "only we know";
  return who;
}

/// Another for every rank and exchange; of some ranks empty, of some large.
inline Blob blob_of(int rank, int exchange) {
  if (rank < 0 || (rank == 1 && exchange % 2 == 0)) return {};
  std::size_t length = static_cast<std::size_t>(rank * 37 + exchange + 1);
  if (rank == 2 && exchange == 1) length = std::size_t{1} << 20U;
  Blob blob(length, '\0');
  for (std::size_t i = 0; i < length; ++i)
    blob[i] = static_cast<char>(i * 7 + static_cast<std::size_t>(rank * 31 + exchange * 101));
  return blob;
}

/// One exchange within `limit`; every rank must have brought its own blob.
inline void expect_exchange(Rendezvous& rendezvous, int size, int rank, int exchange,
                            base::Duration limit = plenty) {
  base::Deadline deadline(base::real_scheduler(), limit);
  const std::vector<Blob> all = rendezvous.exchange(blob_of(rank, exchange), deadline);
  ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
  for (int each = 0; each < size; ++each)
    EXPECT_TRUE(all[static_cast<std::size_t>(each)] == blob_of(each, exchange)) << rank << ' ' << each;
}

/// What an exchange throws, if it throws.
inline std::optional<Problem> problem_in(const std::function<void()>& action) {
  try {
    action();
  } catch (const Problem& problem) {
    return problem;
  }
  return std::nullopt;
}

inline std::optional<Problem> exchange_problem(Rendezvous& rendezvous, int rank, int exchange,
                                               base::Duration limit) {
  return problem_in([&] {
    base::Deadline deadline(base::real_scheduler(), limit);
    (void)rendezvous.exchange(blob_of(rank, exchange), deadline);
  });
}

inline void expect_problem(const std::optional<Problem>& problem, ErrorKind kind,
                           std::initializer_list<std::string_view> parts) {
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->kind(), kind) << problem->what();
  for (const auto part : parts)
    EXPECT_NE(std::string_view(problem->what()).find(part), std::string_view::npos) << problem->what();
}

/// Runs each on a thread of its own.
inline void run_all(const std::vector<std::function<void()>>& mains) {
  std::vector<std::thread> threads;
  for (const auto& main : mains) threads.emplace_back(main);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace rondo::rendezvous
