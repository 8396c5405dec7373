// `rondo run` as the foreground job of a terminal.

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "command.hpp"

namespace rondo::test {
namespace {

class Terminal {
 public:
  /// Two ranks that run this script.
  explicit Terminal(const std::string& script) {
    std::vector<std::string> words = ranks_of_shell(2, {}, script);
    words.insert(words.begin(), rondo_program);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int terminal = -1;
    process_ = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    EXPECT_GE(process_, 0);
    if (process_ == 0) {
      ::alarm(0);
      take_signals();
      ::execv(pointers.front(), pointers.data());
      ::_exit(125);
    }
    terminal_ = base::Fd(terminal);
  }
  ~Terminal() {
    if (process_ < 0) return;
    (void)::kill(process_, SIGKILL);
    (void)::waitpid(process_, nullptr, 0);
  }

  void type(const std::string& keys) const {
    EXPECT_EQ(::write(terminal_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  /// Reads until the screen has so many of this text, or the last process has left the terminal.
  void await(const std::string& text, std::size_t count = 1) {
    while (count_of(screen_, text) < count && read()) continue;
    EXPECT_GE(count_of(screen_, text), count) << text << "\n" << screen_;
  }
  int wait() {
    while (read()) continue;
    int status = 0;
    EXPECT_EQ(::waitpid(process_, &status, 0), process_);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  const std::string& screen() const { return screen_; }

 private:
  bool read() {
    std::array<char, 4096> bytes;
    const ssize_t got = ::read(terminal_.get(), bytes.data(), bytes.size());
    if (got > 0) screen_.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  pid_t process_ = -1;
  base::Fd terminal_;
  std::string screen_;
};

TEST(Terminals, FeedTheFirstRank) {
  Terminal terminal("echo ready; while read line; do echo \"$RONDO_RANK heard $line\"; done; echo end");
  terminal.await("ready", 2);
  terminal.await("[1] end");
  terminal.type("apple pie\n");
  terminal.await("[0] 0 heard apple pie");
  terminal.type("\x04");  // the end of input
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_EQ(count_of(terminal.screen(), "end"), 2U) << terminal.screen();
}

TEST(Terminals, InterruptAllRanks) {
  Terminal terminal("echo ready; while :; do sleep 0.02; done");
  terminal.await("ready", 2);
  terminal.type("\x03");
  EXPECT_EQ(terminal.wait(), 128 + SIGINT) << terminal.screen();
  EXPECT_EQ(count_of(terminal.screen(), "SIGINT: passed on to all ranks"), 1U) << terminal.screen();
}

TEST(Terminals, QuitAllRanks) {
  Terminal terminal("echo ready; while :; do sleep 0.02; done");
  terminal.await("ready", 2);
  terminal.type("\x1c");  // quit
  EXPECT_EQ(terminal.wait(), 128 + SIGQUIT) << terminal.screen();
}

}  // namespace
}  // namespace rondo::test
