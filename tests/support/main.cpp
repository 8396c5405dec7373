// Entry of every test program: gtest with a watchdog, so that a hang is a failure with a name.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// Seconds a single test may take before the process is ended. RONDO_TEST_LIMIT overrides (sanitizers are
// slow).
unsigned limit_seconds() {
  const char* text = std::getenv("RONDO_TEST_LIMIT");
  const int value = text != nullptr ? std::atoi(text) : 0;
  return value > 0 ? static_cast<unsigned>(value) : 120U;
}

char running[512];

void on_alarm(int) {
  constexpr char before[] = "watchdog: no end in sight of ";
  // Only async-signal-safe calls from here on.
  (void)!write(STDERR_FILENO, before, sizeof(before) - 1);
  (void)!write(STDERR_FILENO, running, strnlen(running, sizeof(running)));
  (void)!write(STDERR_FILENO, "\n", 1);
  std::abort();
}

class Watchdog : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& info) override {
    const std::string name = std::string(info.test_suite_name()) + "." + info.name();
    std::strncpy(running, name.c_str(), sizeof(running) - 1);
    alarm(limit_seconds());
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::signal(SIGALRM, on_alarm);
  testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
  return RUN_ALL_TESTS();
}
