// Jobs that do not come about: too few ranks, one too many, or some that are not what they say. Both sides
// are told by name.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "multiprocess/backends.hpp"

namespace rondo::test {
namespace {

constexpr std::int64_t limit_ms = 500;
/// A fifth more than the limit, and what a loaded machine may need to run us at all.
constexpr std::int64_t latest_ms = limit_ms * 12 / 10 + 600;

enum class Place { folder, port };

std::ostream& operator<<(std::ostream& out, Place place) {
  return out << (place == Place::folder ? "folder" : "port");
}
std::string name_of(const testing::TestParamInfo<Place>& info) { return testing::PrintToString(info.param); }

/// What init throws in a rank's process; the limit holds in any case.
Error refusal() {
  const std::int64_t begin = now_ns();
  const Error error = thrown_by([] { (void)init(true); });
  NEED_OR(ms_since(begin) <= latest_ms, error.what());
  NEED_OR(error.operation() == "init", error.what());
  return error;
}

void need(const Error& error, std::initializer_list<ErrorKind> kinds,
          std::initializer_list<const char*> parts) {
  NEED_OR(std::find(kinds.begin(), kinds.end(), error.kind()) != kinds.end(), error.what());
  for (const char* part : parts)
    NEED_OR(std::string(error.what()).find(part) != std::string::npos, error.what());
}

void change(const std::string& name, const std::string& value) { setenv(name.c_str(), value.c_str(), 1); }

class RollCall : public testing::TestWithParam<Place> {
 protected:
  std::unique_ptr<Job> job_of(int size) {
    Job::Environment environment{{"RONDO_INIT_TIMEOUT", std::to_string(limit_ms) + "ms"},
                                 {"RONDO_LOG", "off"}};
    if (GetParam() == Place::port) {
      port_.emplace();
      environment["RONDO_RENDEZVOUS"] = port_->place();
    }
    return std::make_unique<Job>(size, Backend::any, environment);
  }

 private:
  std::optional<HeldPort> port_;
};
INSTANTIATE_TEST_SUITE_P(Over, RollCall, testing::Values(Place::folder, Place::port), name_of);

TEST_P(RollCall, NamesTheMissingRankOnAllWhoCame) {
  const Leftovers before;
  const auto job = job_of(3);
  for (const int rank : {0, 1}) {
    job->start_process(rank, [](int) {
      const std::int64_t begin = now_ns();
      const Error error = refusal();
      need(error, {ErrorKind::timed_out}, {"2 of 3 joined, missing rank 2"});
      // Who waits for rank 0's word may hear of its limit before its own.
      NEED_OR(ms_since(begin) >= limit_ms - 100, error.what());
    });
  }
  job->expect_right();
  job->expect_clean();
  before.expect_none();
}

TEST_P(RollCall, SaysWhereItWaitedWhenRank0IsMissing) {
  const auto job = job_of(2);
  job->start_process(1, [&](int) {
    const Error error = refusal();
    if (GetParam() == Place::folder) {
      need(error, {ErrorKind::timed_out}, {"1 of 2 joined, missing rank 0"});
    } else {
      need(error, {ErrorKind::timed_out, ErrorKind::unavailable}, {"127.0.0.1:", "rank 1"});
    }
  });
  job->expect_right();
}

TEST_P(RollCall, NamesARankThatIsThereTwice) {
  const auto job = job_of(3);
  job->start_processes([](int place) {
    if (place == 2) change("RONDO_RANK", "1");
    const Error error = refusal();
    if (place == 0) {
      // Over a folder it may only see that somebody else never came.
      need(error, {ErrorKind::timed_out, ErrorKind::unavailable}, {});
    } else {
      need(error, {ErrorKind::unavailable}, {"two processes say that they are rank 1"});
    }
  });
  job->expect_right();
}

TEST_P(RollCall, NamesARankOfAnotherSize) {
  const auto job = job_of(3);
  job->start_processes([](int place) {
    if (place == 2) change("RONDO_SIZE", "4");
    const Error error = refusal();
    if (place == 1) return;  // told by the others, in whatever words
    need(error, {ErrorKind::timed_out, ErrorKind::unavailable}, {"size 3", "size 4"});
  });
  job->expect_right();
}

TEST_P(RollCall, NamesARankWithAnotherSecret) {
  const auto job = job_of(2);
  const std::string folder = job->folder();
  job->start_processes([&](int place) {
    const std::string file = folder + "/secret" + std::to_string(place);
    const base::Fd secret(open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    const std::string words = "a secret of the job, but of which one: " + std::to_string(place);
    NEED(write(secret.get(), words.data(), words.size()) == static_cast<ssize_t>(words.size()));
    change("RONDO_SECRET_FILE", file);
    need(refusal(), {ErrorKind::timed_out, ErrorKind::unavailable}, {"different secrets"});
  });
  job->expect_right();
}

TEST_P(RollCall, OneSecretForAllIsRight) {
  const auto job = job_of(3);
  const std::string file = job->folder() + "/secret";
  {
    const base::Fd secret(open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(write(secret.get(), "something that nobody else knows", 32), 32);
  }
  job->set("RONDO_SECRET_FILE", file);
  job->start_all([](const Group& group) {
    std::vector<std::int64_t> data = numbers(1000, group.rank());
    group.all_sum(data);
    NEED(data == summed_numbers(1000, 0, 3));
  });
  job->expect_right();
}

TEST_P(RollCall, SettingsOfTheProtocolThatDifferAreNamedWithBothValues) {
  const auto job = job_of(2);
  job->start_processes([](int place) {
    if (place == 1) change("RONDO_EAGER_BYTES", "5000");
    need(refusal(), {ErrorKind::mismatch}, {"RONDO_EAGER_BYTES=32768", "RONDO_EAGER_BYTES=5000"});
  });
  job->expect_right();
}

// A rank that dies while the others wait for a third: they say who is not there.
TEST_P(RollCall, ARankThatIsKilledDuringSetUpIsMissed) {
  const Board board;
  const auto job = job_of(3);
  job->start_process(0, [&](int) {
    board.raise(0);
    const Error error = refusal();
    need(error, {ErrorKind::timed_out, ErrorKind::disconnected}, {"rank"});
  });
  job->start_process(1, [&](int) { (void)init(true); });
  board.await(0);
  usleep(50'000);  // somewhere on its way
  job->signal(1, SIGKILL);
  EXPECT_EQ(job->wait(1), -SIGKILL);
  job->expect_right();
}

// Not strict: the same troubles give a group of one that says why, and one line of warning.
TEST_P(RollCall, WithoutBeingStrictEachIsAloneAndSaysWhy) {
  const auto job = job_of(3);
  job->set("RONDO_LOG", "warn");
  for (const int rank : {0, 1}) {
    job->start_process(rank, [](int) {
      const Group group = init();
      NEED(group.size() == 1 && group.rank() == 0);
      NEED_OR(group.fallback_reason().find("missing rank 2") != std::string::npos, group.fallback_reason());
      group.barrier();
    });
  }
  job->expect_right();
  for (const int rank : {0, 1}) {
    const std::string words = job->words(rank);
    EXPECT_NE(words.find("RONDO_SIZE=3"), std::string::npos) << words;
    EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 1) << words;
  }
}

}  // namespace
}  // namespace rondo::test
