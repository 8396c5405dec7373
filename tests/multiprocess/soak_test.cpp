// Long lives: nothing grows. And lives that are short of descriptors: a clear end.

#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "multiprocess/backends.hpp"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;

/// The long form of a soak: RONDO_TEST_LONG=1.
bool takes_long() {
  const char* text = std::getenv("RONDO_TEST_LONG");
  return text != nullptr && std::string(text) == "1";
}

std::string text_of(const Footprint& now) {
  return std::to_string(now.descriptors) + " descriptors, " + std::to_string(now.threads) + " threads, " +
         std::to_string(now.resident_bytes >> 10) + " KiB";
}

/// As many descriptors and threads as before, and no more memory than an allocator's mood explains.
void need_no_growth(const Footprint& before, const Footprint& after) {
  constexpr std::size_t mood = std::size_t{4} << 20;
  const std::string words = text_of(before) + ", then " + text_of(after);
  NEED_OR(after.descriptors == before.descriptors, words);
  NEED_OR(after.threads == before.threads, words);
  NEED_OR(after.resident_bytes < before.resident_bytes + mood, words);
}

/// A rank that has slept once has all it ever needs; short calls may never have let it.
Footprint footprint_after_sleep(const Group& group) {
  const int next = (group.rank() + 1) % group.size();
  (void)thrown_by([&] { (void)group.probe(next, {.tag = 99, .timeout = 20ms}); });
  return footprint();
}

class Soak : public OverBackends {};
OVER_ALL_BACKENDS(Soak);

TEST_P(Soak, ManyLivesInOneProcess) {
  const int lives = takes_long() ? 1000 : 200;
  const Leftovers before;
  Job job(2, backend());
  job.start_processes([&](int rank) {
    Footprint first;
    for (int life = 0; life < lives; ++life) {
      {
        const Group group = init(Config::from_env());
        std::vector<std::int64_t> data = numbers(1000, life + rank);
        group.all_sum(data);
        NEED(data == summed_numbers(1000, life, 2));
        if (life % 2 == 0) group.shutdown();  // otherwise the last handle does it
      }
      if (life == 20) first = footprint();
    }
    need_no_growth(first, footprint());
  });
  job.expect_right();
  job.expect_clean();
  before.expect_none();
}

TEST_P(Soak, ManyCollectivesOfRandomSizes) {
  const int rounds = takes_long() ? 20'000 : 5'000;
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    std::mt19937 draw(7);  // the same sizes on both ranks
    std::uniform_real_distribution<double> exponent(0, 17);
    std::vector<std::int64_t> data;
    data.reserve(std::size_t{1} << 17);
    Footprint first;
    for (int round = 0; round < rounds; ++round) {
      const auto count = static_cast<std::size_t>(std::exp2(exponent(draw)));
      data.resize(count);
      for (std::size_t i = 0; i < count; ++i) {
        data[i] = static_cast<std::int64_t>(i) * (group.rank() + 1) + round;
      }
      group.all_sum(data);
      for (std::size_t i = 0; i < count; ++i) NEED(data[i] == static_cast<std::int64_t>(i) * 3 + 2 * round);
      if (round == rounds / 4) first = footprint_after_sleep(group);
    }
    need_no_growth(first, footprint());
  });
  job.expect_right();
}

TEST_P(Soak, ManyMessagesAndManyGroups) {
  const int rounds = takes_long() ? 2'000 : 300;
  Job job(3, backend());
  job.start_all([&](const Group& group) {
    std::mt19937 draw(11);
    std::uniform_real_distribution<double> exponent(0, 17);
    Footprint first;
    for (int round = 0; round < rounds; ++round) {
      const auto count = static_cast<std::size_t>(std::exp2(exponent(draw)));
      std::vector<std::int64_t> in(count);
      const int next = (group.rank() + 1) % 3;
      const int previous = (group.rank() + 2) % 3;
      group.sendrecv(numbers(count, round + group.rank()), next, in, previous);
      NEED(in == numbers(count, round + previous));
      if (const auto pair = group.split(group.rank() == round % 3 ? -1 : 0)) {
        std::vector<std::int64_t> data = numbers(100, round + pair->rank());
        pair->all_sum(data);
        NEED(data == summed_numbers(100, round, 2));
      }
      if (round == rounds / 4) first = footprint_after_sleep(group);
    }
    need_no_growth(first, footprint());
  });
  job.expect_right();
}

// A call that runs into its limit takes nothing with it either.
TEST_P(Soak, ManyTimedOutWaits) {
  Job job(2, backend());
  job.start_all([&](const Group& group) {
    group.barrier();
    if (group.rank() == 0) {
      Footprint first;
      std::vector<std::int64_t> data(50'000);
      for (int round = 0; round < 2000; ++round) {
        const Error error =
            thrown_by([&] { group.recv_into(data, 1, {.timeout = std::chrono::microseconds(100)}); });
        NEED(error.kind() == ErrorKind::timed_out);
        if (round == 500) first = footprint();
      }
      need_no_growth(first, footprint());
    }
    group.barrier();
  });
  job.expect_right();
}

// ---- descriptors run out
// -----------------------------------------------------------------------------------

class Descriptors : public OverBackends {};
OVER_ALL_BACKENDS(Descriptors);

// Rank 1 may open only so many; whatever the number, all ranks end in time, and it says what it lacks.
TEST_P(Descriptors, RunOutDuringSetUp) {
  constexpr int most_spare = 14;
  const Leftovers before;
  std::vector<std::unique_ptr<Job>> jobs;
  const Board board;  // by number of spare descriptors: 1 when the job came about
  for (int spare = 0; spare < most_spare; ++spare) {
    Job::Environment environment{{"RONDO_INIT_TIMEOUT", "1500ms"}, {"RONDO_TIMEOUT", "1500ms"}};
    jobs.push_back(std::make_unique<Job>(3, backend(), environment));
    jobs.back()->start_processes([&](int rank) {
      const Footprint first = footprint();
      if (rank == 1) {
        // One is open for as long as the folder is being read: not counted in what is spare.
        const rlimit limit{first.descriptors - 1 + static_cast<rlim_t>(spare), 1024};
        NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
      }
      const std::int64_t begin = now_ns();
      std::string words;
      try {
        const Group group = init(Config::from_env());
        std::vector<std::int64_t> data = numbers(10, rank);
        group.all_sum(data);
        NEED(data == summed_numbers(10, 0, 3));
        board.raise(spare);
      } catch (const Error& error) {
        words = error.what();
      }
      NEED_OR(ms_since(begin) < 8000, words);
      if (rank != 1 || words.empty()) return;
      const rlimit enough{1024, 1024};
      NEED(setrlimit(RLIMIT_NOFILE, &enough) == 0);
      const Footprint last = footprint();
      NEED_OR(last.descriptors == first.descriptors, text_of(first) + ", then " + text_of(last));
      NEED_OR(last.threads == first.threads, text_of(first) + ", then " + text_of(last));
      const bool named = words.find("limit of this process is") != std::string::npos;
      NEED_OR(named, words);
    });
  }
  for (int spare = 0; spare < most_spare; ++spare) {
    SCOPED_TRACE(std::to_string(spare) + " spare descriptors");
    jobs[static_cast<std::size_t>(spare)]->expect_right();
  }
  EXPECT_EQ(board.count(0), 0U);  // the test does test something
  before.expect_none();
}

}  // namespace
}  // namespace rondo::test
