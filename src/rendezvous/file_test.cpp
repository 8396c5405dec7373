#include "rendezvous/file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <latch>

#include "rendezvous/file_record.hpp"
#include "rendezvous/local.hpp"
#include "rendezvous/test_support.hpp"

namespace {

using namespace rondo::rendezvous;
using namespace std::chrono_literals;
using rondo::ErrorKind;
using rondo::control::Identity;
namespace base = rondo::base;
namespace fs = std::filesystem;

/// A directory of its own, which goes with the test.
class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "rondo-test-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  ~Files() override { fs::remove_all(directory_); }

  std::unique_ptr<Rendezvous> join(const Identity& who) {
    return join_files(who, directory_, base::real_scheduler());
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  std::vector<std::optional<Problem>> problems(const std::vector<Identity>& present, base::Duration limit) {
    std::vector<std::optional<Problem>> found(present.size());
    std::vector<std::function<void()>> mains;
    for (std::size_t i = 0; i < present.size(); ++i)
      mains.emplace_back(
          [&, i] { found[i] = exchange_problem(*join(present[i]), present[i].rank, 1, limit); });
    run_all(mains);
    return found;
  }
  void run_job(
      int size, int exchanges, const std::function<void(Identity&)>& change = [](Identity&) {}) {
    std::vector<std::function<void()>> mains;
    for (int rank = 0; rank < size; ++rank)
      mains.emplace_back([&, rank] {
        Identity who = identity(rank, size);
        change(who);
        const auto rendezvous = join(who);
        for (int exchange = 1; exchange <= exchanges; ++exchange)
          expect_exchange(*rendezvous, size, rank, exchange);
      });
    run_all(mains);
  }

  fs::path directory_;
};

class FilesOfSize : public Files, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, FilesOfSize, testing::Values(1, 2, 3, 5));

TEST_P(FilesOfSize, several_exchanges_leave_nothing_behind) {
  run_job(GetParam(), 4);
  EXPECT_EQ(files(), 0U);
}

TEST_F(Files, two_jobs_in_one_directory) {
  run_all({[&] { run_job(3, 2); },
           [&] {
             run_job(2, 3, [](Identity& who) {
               who.job[0] = std::byte{1};
               who.secret = "another";
             });
           }});
  EXPECT_EQ(files(), 0U);
}

TEST_F(Files, leftovers_of_another_job_are_left_alone) {
  Identity dead = identity(0, 2);
  dead.job[9] = std::byte{8};
  // It is killed while it waits: its file stays.
  FileRecord record{1, 0, false, rondo::control::random_nonce(), {{}, {}}, "of the dead"};
  std::string job;
  for (const std::byte each : dead.job) {
    constexpr char digits[] = "0123456789abcdef";
    job += digits[std::to_integer<unsigned>(each) >> 4U];
    job += digits[std::to_integer<unsigned>(each) & 15U];
  }
  std::ofstream(directory_ / ("rondo-" + job + "-1-0")) << encode(record, dead.job, dead.secret);
  run_job(2, 2);
  EXPECT_EQ(files(), 1U);
}

TEST_F(Files, leftovers_of_this_very_job_are_nobody) {
  // Rank 1 of an earlier life has seen everybody of it and is gone.
  const std::string name = "rondo-00000000007700000000000000000000-1-1";
  const FileRecord record{1,
                          1,
                          true,
                          rondo::control::random_nonce(),
                          {rondo::control::random_nonce(), rondo::control::random_nonce()},
                          "of the dead"};
  std::ofstream(directory_ / name) << encode(record, identity(1, 2).job, identity(1, 2).secret);
  expect_problem(exchange_problem(*join(identity(0, 2)), 0, 1, 200ms), ErrorKind::timed_out,
                 {"1 of 2 joined, missing rank 1"});
  run_job(2, 2);
  EXPECT_EQ(files(), 0U);
}

TEST_F(Files, missing_rank_is_named_on_all_who_joined) {
  for (const auto& problem : problems({identity(0, 3), identity(1, 3)}, 1s))
    expect_problem(problem, ErrorKind::timed_out, {"2 of 3 joined, missing rank 2"});
  EXPECT_EQ(files(), 0U);
}

TEST_F(Files, wrong_secret_is_named_on_both_sides) {
  Identity other = identity(1, 2);
  other.secret = "guessed";
  for (const auto& problem : problems({identity(0, 2), other}, 1s))
    expect_problem(problem, ErrorKind::timed_out, {"rank 0", "rank 1", "hold different secrets"});
}

TEST_F(Files, wrong_size_is_named_on_both_sides) {
  for (const auto& problem : problems({identity(0, 2), identity(1, 3)}, 1s))
    expect_problem(problem, ErrorKind::timed_out, {"rank 0", "size 2", "rank 1", "size 3"});
}

TEST_F(Files, two_of_one_number_are_named_on_both_sides) {
  for (const auto& problem : problems({identity(1, 3), identity(1, 3)}, plenty))
    expect_problem(problem, ErrorKind::unavailable, {"two processes say that they are rank 1"});
}

TEST_F(Files, no_such_directory) {
  const auto rendezvous = join_files(identity(0, 2), directory_ / "none", base::real_scheduler());
  expect_problem(exchange_problem(*rendezvous, 0, 1, plenty), ErrorKind::unavailable,
                 {(directory_ / "none").string(), "No such file"});
}

TEST_F(Files, damaged_file_is_named) {
  std::ofstream(directory_ / "rondo-00000000007700000000000000000000-1-1") << "what is this";
  expect_problem(exchange_problem(*join(identity(0, 2)), 0, 1, 200ms), ErrorKind::timed_out,
                 {"1 of 2 joined, missing rank 1", "the file of rank 1 is damaged"});
}

TEST(FileRecords, every_truncation_and_every_changed_byte_is_seen) {
  const FileRecord record{7,
                          2,
                          true,
                          rondo::control::random_nonce(),
                          {rondo::control::random_nonce(), {}, rondo::control::random_nonce()},
                          "blob"};
  const Identity who = identity(2, 3);
  const std::string text = encode(record, who.job, who.secret);
  FileRecord read;
  ASSERT_EQ(decode(text, who.job, who.secret, read), FileState::sound);
  EXPECT_TRUE(read == record);
  EXPECT_LE(text.size(), most_file_bytes(3));
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_EQ(decode(text.substr(0, i), who.job, who.secret, read), FileState::malformed);
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 0x21);
    EXPECT_NE(decode(changed, who.job, who.secret, read), FileState::sound) << i;
  }
  EXPECT_EQ(decode(text, identity(0, 1).job, "another", read), FileState::unsigned_);
  EXPECT_EQ(decode(text, {}, who.secret, read), FileState::unsigned_);
}

// --- threads of one process ------------------------------------------------------------------------------

TEST(Local, several_exchanges) {
  for (const int size : {1, 2, 3, 8}) {
    const auto ends = make_local(size, base::real_scheduler());
    std::vector<std::function<void()>> mains;
    for (int rank = 0; rank < size; ++rank)
      mains.emplace_back([&, rank] {
        for (int exchange = 1; exchange <= 50; ++exchange)
          expect_exchange(*ends[static_cast<std::size_t>(rank)], size, rank, exchange);
      });
    run_all(mains);
  }
}

TEST(Local, missing_rank_is_named_on_all_who_joined_and_later) {
  const auto ends = make_local(3, base::real_scheduler());
  std::vector<std::optional<Problem>> found(3);
  run_all({[&] { found[0] = exchange_problem(*ends[0], 0, 1, plenty); },
           [&] { found[1] = exchange_problem(*ends[1], 1, 1, 200ms); }});
  found[2] = exchange_problem(*ends[2], 2, 1, plenty);
  // Rank 0 may come after rank 1 has given up.
  for (const auto& problem : found) {
    expect_problem(problem, ErrorKind::timed_out, {" of 3 joined, missing rank"});
    EXPECT_STREQ(problem->what(), found[1]->what());
  }
}

}  // namespace
