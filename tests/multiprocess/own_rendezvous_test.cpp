// Ranks that meet over an exchange of their own: init(config, exchange).

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "multiprocess/backends.hpp"

namespace rondo::test {
namespace {

constexpr int size = 3;

class OwnRendezvous : public OverBackends {
 protected:
  static Config config(int rank) {
    Config made;
    made.backend = backend();
    made.rank = rank;
    made.size = size;
    made.interface = "lo";
    made.timeout = made.init_timeout = std::chrono::seconds(20);
    return made;
  }
};
OVER_ALL_BACKENDS(OwnRendezvous);

/// An exchange as somebody might bring it: files in a folder, and the board tells when all are there.
class Files {
 public:
  Files(const Board& board, std::string folder, int rank)
      : board_(board), folder_(std::move(folder)), rank_(rank) {}

  std::vector<std::string> operator()(const std::string& mine) {
    ++calls_;
    std::ofstream(path(rank_), std::ios::binary) << mine;
    board_.raise(calls_);
    board_.await(calls_, size);
    std::vector<std::string> all;
    for (int rank = 0; rank < size; ++rank) {
      std::ostringstream bytes;
      bytes << std::ifstream(path(rank), std::ios::binary).rdbuf();
      all.push_back(bytes.str());
    }
    return all;
  }
  int calls() const noexcept { return calls_; }

 private:
  std::string path(int rank) const {
    return folder_ + "/blob-" + std::to_string(calls_) + "-" + std::to_string(rank);
  }

  const Board& board_;
  std::string folder_;
  int rank_;
  int calls_ = 0;
};

TEST_P(OwnRendezvous, JoinsAJob) {
  const Board board;
  Job job(size, backend());
  job.start_processes([&](int rank) {
    Files files(board, job.folder(), rank);
    std::string first;
    const Group group = init(config(rank), [&](const std::string& mine) {
      if (first.empty()) first = mine;
      return files(mine);
    });
    NEED(files.calls() == 2);
    NEED(first.find("127.0.0.1:") != std::string::npos);  // Config::interface
    NEED(group.rank() == rank && group.size() == size && group.local_size() == size);
    NEED(group.backend() == backend() && group.fallback_reason().empty());
    std::vector<std::int64_t> sum = numbers(50'000, group.rank());
    group.all_sum(sum);
    NEED(sum == summed_numbers(50'000, 0, size));
    std::vector<std::int64_t> in(300);
    group.sendrecv(numbers(300, rank), (rank + 1) % size, in, (rank + size - 1) % size);
    NEED(in == numbers(300, (rank + size - 1) % size));
    const auto others = group.split(rank == 1 ? -1 : 0);
    NEED(others.has_value() == (rank != 1));
    if (others) NEED(others->all_sum(Tensor::scalar(rank + 10)).span<int>()[0] == 22);
    group.shutdown();
  });
  job.expect_right();
}

/// An error of the user's own, which rondo knows nothing of.
struct StoreIsDown {
  int call;
};

// The others hear of it as of any loss: in init or in their first call.
TEST_P(OwnRendezvous, WhatTheExchangeThrowsComesOutAsItIs) {
  const Board board;
  Job job(size, backend());
  job.start_processes([&](int rank) {
    Files files(board, job.folder(), rank);
    if (rank != 2) {
      const Error error = thrown_by([&] { init(config(rank), std::ref(files)).barrier(); });
      NEED_OR(error.kind() == ErrorKind::disconnected && error.peer() == 2, error.what());
      board.raise(7);
      return;
    }
    int thrown_at = 0;
    try {
      (void)init(config(rank), [&](const std::string& mine) {
        auto all = files(mine);
        if (files.calls() == 2) throw StoreIsDown{2};
        return all;
      });
    } catch (const StoreIsDown& error) {
      thrown_at = error.call;
    }
    NEED(thrown_at == 2);
    board.await(7, 2);  // they are told while this process lives
  });
  job.expect_right();
}

/// The error of rank 0 of 3 whose exchange does this.
std::string words_of_init(const Config& config, const Exchange& exchange, ErrorKind kind) {
  try {
    (void)init(config, exchange);
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.operation(), "init");
    return error.what();
  }
}

TEST_P(OwnRendezvous, SaysWhatIsWrongWithTheBlobs) {
  const auto begin = now_ns();
  EXPECT_EQ(words_of_init(
                config(0),
                [](const std::string& mine) {
                  return std::vector{mine, mine};
                },
                ErrorKind::invalid_argument),
            "init: " + std::string(to_string(backend())) +
                " was not established: exchange 1 returned 2 blobs, expected 3, one of every rank");
  const std::string garbage = words_of_init(
      config(0),
      [](const std::string& mine) {
        return std::vector<std::string>{mine, "nothing that rondo wrote", mine};
      },
      ErrorKind::invalid_argument);
  EXPECT_NE(garbage.find("exchange 1: blob 1 begins with \"nothing that rondo wrote\", expected \"rondo"),
            std::string::npos)
      << garbage;
  EXPECT_THROW(
      (void)init(config(0), [](const std::string&) -> std::vector<std::string> { throw StoreIsDown{1}; }),
      StoreIsDown);
  EXPECT_LT(ms_since(begin), 5000);
}

TEST_P(OwnRendezvous, SaysWhatIsWrongWithTheSettings) {
  const Exchange never = [](const std::string&) -> std::vector<std::string> { throw StoreIsDown{0}; };
  const auto words = [&](const std::function<void(Config&)>& change, const Exchange& exchange) {
    Config changed = config(1);
    change(changed);
    return words_of_init(changed, exchange, ErrorKind::invalid_argument);
  };
  EXPECT_EQ(words([](Config&) {}, nullptr),
            "init with an exchange: the exchange is empty, expected a function");
  EXPECT_EQ(words([](Config& c) { c.size.reset(); }, never),
            "init with an exchange: expected Config::rank and Config::size, but size is not set");
  EXPECT_EQ(words([](Config& c) { c.rank.reset(); }, never),
            "init with an exchange: expected Config::rank and Config::size, but rank is not set");
  EXPECT_EQ(words([](Config& c) { c.backend = Backend::sim; }, never),
            "init with an exchange: backend sim, expected any, tcp or shm");
}

TEST_P(OwnRendezvous, AJobOfOneMeetsItself) {
  Config alone = config(0);
  alone.size = 1;
  int calls = 0;
  const Group group = init(alone, [&](const std::string& mine) {
    ++calls;
    return std::vector{mine};
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(group.size(), 1);
  EXPECT_EQ(group.backend(), backend());
}

}  // namespace
}  // namespace rondo::test
