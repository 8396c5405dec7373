#include "rendezvous/callback.hpp"

#include "rendezvous/test_support.hpp"

namespace rondo::rendezvous {
namespace {

/// What the blobs of all ranks look like on their way: as join_callback of each rank hands them over.
std::vector<Blob> sent_by_all(int size, int exchanges) {
  std::vector<Blob> all;
  for (int rank = 0; rank < size; ++rank) {
    Blob sent;
    const auto end = join_callback(rank, size, [&](const Blob& mine) {
      sent = mine;
      return std::vector<Blob>();
    });
    for (int exchange = 1; exchange <= exchanges; ++exchange) {
      base::Deadline deadline(base::real_scheduler(), plenty);
      EXPECT_THROW(end->exchange(blob_of(rank, exchange), deadline), Problem);
    }
    all.push_back(sent);
  }
  return all;
}

/// The words of the problem that rank 1 of 3 has with these blobs in its first exchange.
std::string problem_with(const std::vector<Blob>& blobs) {
  const auto end = join_callback(1, 3, [&](const Blob&) { return blobs; });
  base::Deadline deadline(base::real_scheduler(), plenty);
  try {
    end->exchange(blob_of(1, 1), deadline);
    return "none";
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::invalid_argument);
    return problem.what();
  }
}

TEST(Callback, GivesTheBlobsOfAllByRank) {
  int calls = 0;
  const auto end = join_callback(1, 3, [&](const Blob&) { return sent_by_all(3, ++calls); });
  for (int exchange = 1; exchange <= 2; ++exchange) {
    base::Deadline deadline(base::real_scheduler(), plenty);
    const auto all = end->exchange(blob_of(1, exchange), deadline);
    ASSERT_EQ(all.size(), 3U);
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(all[static_cast<std::size_t>(rank)], blob_of(rank, exchange));
  }
  EXPECT_EQ(calls, 2);
}

TEST(Callback, NamesBothNumbersOfBlobs) {
  auto blobs = sent_by_all(3, 1);
  blobs.pop_back();
  EXPECT_EQ(problem_with(blobs), "exchange 1 returned 2 blobs, expected 3, one of every rank");
  EXPECT_EQ(problem_with({}), "exchange 1 returned 0 blobs, expected 3, one of every rank");
}

TEST(Callback, NamesABlobThatIsAnothers) {
  auto blobs = sent_by_all(3, 1);
  std::swap(blobs[0], blobs[2]);
  EXPECT_EQ(
      problem_with(blobs),
      "exchange 1: blob 0 begins with \"rondo exchange 1, rank 2 of 3, 1048576 bytes\", expected \"rondo "
      "exchange 1, rank 0 of 3, N bytes\"");
}

TEST(Callback, NamesABlobOfAnotherExchangeOrSize) {
  auto blobs = sent_by_all(3, 1);
  blobs[2] = sent_by_all(3, 2)[2];
  EXPECT_NE(problem_with(blobs).find("blob 2 begins with \"rondo exchange 2, rank 2 of 3"),
            std::string::npos);
  blobs[2] = sent_by_all(4, 1)[2];
  EXPECT_NE(problem_with(blobs).find("blob 2 begins with \"rondo exchange 1, rank 2 of 4"),
            std::string::npos);
}

TEST(Callback, NamesGarbage) {
  auto blobs = sent_by_all(3, 1);
  for (const std::string garbage :
       {"", "rondo", "garbage\nand more", "rondo exchange 1, rank 2 of 3, many bytes\n",
        "rondo exchange 1, rank 2 of 3, 99999999999999999999999 bytes\n",
        "rondo exchange 1, rank 2 of 3, 7"}) {
    blobs[2] = garbage;
    const std::string shown = garbage.substr(0, garbage.find('\n')).substr(0, 60);
    EXPECT_EQ(problem_with(blobs), "exchange 1: blob 2 begins with \"" + shown +
                                       "\", expected \"rondo exchange 1, rank 2 of 3, N bytes\"");
  }
}

TEST(Callback, NamesABlobThatWasCutOrFilledUp) {
  auto blobs = sent_by_all(3, 1);
  const Blob whole = blobs[0];
  blobs[0].pop_back();
  EXPECT_EQ(problem_with(blobs), "exchange 1: blob 0 came with 1 bytes after its first line, expected 2");
  blobs[0] = whole + std::string(3, '\0');
  EXPECT_EQ(problem_with(blobs), "exchange 1: blob 0 came with 5 bytes after its first line, expected 2");
}

TEST(Callback, LetsThroughWhatTheExchangeThrows) {
  struct Mine {};
  const auto end = join_callback(0, 1, [](const Blob&) -> std::vector<Blob> { throw Mine(); });
  base::Deadline deadline(base::real_scheduler(), plenty);
  EXPECT_THROW(end->exchange("a", deadline), Mine);
}

TEST(Callback, TheTimeOfTheExchangeCounts) {
  const auto end = join_callback(0, 1, [](const Blob& mine) { return std::vector<Blob>{mine}; });
  base::Deadline deadline(base::real_scheduler(), base::Duration::zero());
  try {
    end->exchange("a", deadline);
    FAIL();
  } catch (const Problem& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::timed_out);
    EXPECT_EQ(std::string(problem.what()), "exchange 1 took 0.0 s, more than the limit of set-up");
  }
}

}  // namespace
}  // namespace rondo::rendezvous
