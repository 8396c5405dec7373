// Rows B03, B04 and B06 to B08 of the acceptance list for rings; rings of several ranks are tested beside the
// backend and in tests/interop.

#include "acceptance/support.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace rondo::test {
namespace {

using Values = std::map<std::string, std::string>;

/// Variables of the environment for the length of a scope.
class Variables {
 public:
  explicit Variables(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  Values values_;
};

class HostfileOf {
 public:
  explicit HostfileOf(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("rondo-ring-" + std::to_string(getpid()) + ".json")) {
    std::ofstream(path_) << text;
  }
  ~HostfileOf() { std::filesystem::remove(path_); }
  HostfileOf(const HostfileOf&) = delete;
  HostfileOf& operator=(const HostfileOf&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Acceptance, B03_RingSaysWhichVariableIsMissing) {
  expect_error(ErrorKind::unavailable,
               {"RONDO_RANK (or MLX_RANK) and RONDO_HOSTFILE (or MLX_HOSTFILE) are not set"},
               [] { (void)init(true, Backend::ring); });
  const Variables rank(Values{{"MLX_RANK", "0"}});
  expect_error(ErrorKind::unavailable, {"no ring is described: RONDO_HOSTFILE (or MLX_HOSTFILE) is not set"},
               [] { (void)init(true, Backend::ring); });
}

TEST(Acceptance, B04_RingThatCannotBeIsAGroupOfOneUnlessStrict) {
  const HostfileOf malformed("[\"a:1\", 7]");
  for (const std::string& path : {malformed.path(), std::string("/nowhere/ring.json")}) {
    const Variables set(
        Values{{"MLX_RANK", "0"}, {"MLX_HOSTFILE", path}, {"RONDO_RING_WIRE", "mlx"}, {"RONDO_LOG", "off"}});
    const Group group = init(false, Backend::ring);
    EXPECT_EQ(group.size(), 1);
    EXPECT_NE(group.fallback_reason().find(path), std::string::npos) << group.fallback_reason();
    expect_error(ErrorKind::invalid_argument, {"ring was not established", path},
                 [] { (void)init(true, Backend::ring); });
  }
}

TEST(Acceptance, B06_AnyTakesTheRingThatIsDescribed) {
  const HostfileOf file("[\"127.0.0.1:5000\"]");
  const Variables set(Values{{"MLX_RANK", "0"}, {"MLX_HOSTFILE", file.path()}, {"RONDO_RING_WIRE", "mlx"}});
  const Group group = init(Config::from_env());  // not what an earlier init has made
  EXPECT_EQ(group.backend(), Backend::ring);
  EXPECT_EQ(group.size(), 1);
  EXPECT_TRUE(group.fallback_reason().empty());
  EXPECT_TRUE(same(group.all_sum(Tensor::of<float>({1, 2})), Tensor::of<float>({1, 2})));
  group.shutdown();
}

TEST(Acceptance, B07_B08_NamesOfRondoWinAndErrorsNameTheVariable) {
  const HostfileOf file("[\"127.0.0.1:5000\"]");
  {
    const Variables set(Values{{"MLX_RANK", "one"},
                               {"RONDO_RANK", "0"},
                               {"MLX_HOSTFILE", "/nowhere"},
                               {"RONDO_HOSTFILE", file.path()},
                               {"RONDO_RING_WIRE", "mlx"}});
    init(true, Backend::ring).shutdown();
  }
  const Variables set(Values{{"MLX_RANK", "one"}, {"MLX_HOSTFILE", file.path()}});
  expect_error(ErrorKind::invalid_argument, {"MLX_RANK=\"one\""}, [] { (void)init(true, Backend::ring); });
}

}  // namespace
}  // namespace rondo::test
