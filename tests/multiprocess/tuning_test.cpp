// Tables of algorithms that are not the shipped one: results stay what they are, and all ranks have the same.

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "backends.hpp"

namespace rondo::test {
namespace {

class Tunings : public OverBackends {};
OVER_ALL_BACKENDS(Tunings);

/// A table in a file that is gone when this is.
class TableFile {
 public:
  TableFile(const std::string& name, const std::string& rows)
      : path_((std::filesystem::temp_directory_path() / fmt::format("rondo-{}-{}.json", name, now_ns()))
                  .string()) {
    std::ofstream(path_) << R"({"rondo tuning": 1, "rows": [)" << rows << "]}";
  }
  ~TableFile() { (void)std::remove(path_.c_str()); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

TEST_P(Tunings, EveryAlgorithmOfATableGivesTheSameResult) {
  for (const char* const algorithm : {"ring", "recursive_doubling", "one_shot", "direct"}) {
    SCOPED_TRACE(algorithm);
    const TableFile table(algorithm,
                          fmt::format(R"({{"collective": "all_reduce", "algorithm": "{}", "from": 100,
                                                    "combined once": false}})",
                                      algorithm));
    Job job(3, backend(), {{"RONDO_TUNING", table.path()}});
    job.start_all([](const Group& group) {
      for (const std::size_t count : {std::size_t{0}, std::size_t{2}, std::size_t{13}, std::size_t{70'001}}) {
        std::vector<std::int64_t> data = numbers(count, group.rank());
        group.all_sum(data);
        NEED(data == summed_numbers(count, 0, 3));
      }
    });
    job.expect_right();
  }
}

TEST_P(Tunings, RanksWithDifferentTablesAreTold) {
  const TableFile one("one", R"({"collective": "all_reduce", "algorithm": "direct"})");
  const TableFile other("other", R"({"collective": "all_reduce", "algorithm": "one_shot"})");
  Job job(2, backend());
  job.start_processes([&](int rank) {
    setenv("RONDO_TUNING", (rank == 0 ? one : other).path().c_str(), 1);
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(error.kind() == ErrorKind::mismatch, error.what());
    NEED_OR(std::string(error.what()).find("RONDO_TUNING=") != std::string::npos, error.what());
  });
  job.expect_right();
}

TEST_P(Tunings, AFileThatCannotBeUsedIsToldBeforeOthersWait) {
  Job job(2, backend(), {{"RONDO_TUNING", "/nonexistent/table.json"}});
  job.start_processes([&](int) {
    const std::int64_t begin = now_ns();
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(error.kind() == ErrorKind::invalid_argument, error.what());
    NEED_OR(std::string(error.what()).find("RONDO_TUNING=\"/nonexistent/table.json\"") != std::string::npos,
            error.what());
    NEED(ms_since(begin) < 5000);
  });
  job.expect_right();
}

}  // namespace
}  // namespace rondo::test
