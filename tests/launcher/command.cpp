#include "command.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace rondo::test {

namespace {

// Beside this program's folder.
std::filesystem::path build_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

struct Ends {
  base::Fd read;
  base::Fd write;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {base::Fd(ends[0]), base::Fd(ends[1])};
}

// Appends what is there; false at the end.
bool read_into(std::string& text, base::Fd& fd) {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
  if (got < 0 && errno == EINTR) return true;
  if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
  if (got <= 0) fd.reset();
  return got > 0;
}

}  // namespace

const std::string rondo_program = (build_folder() / "bin/rondo").string();
const std::string rank_program = (build_folder() / "tests/launcher/launcher_rank").string();

void take_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    (void)std::signal(number, SIG_DFL);
}

Command::Command(const std::vector<std::string>& arguments, const Options& options) {
  Ends in = make_pipe();
  Ends out = make_pipe();
  Ends err = make_pipe();
  Ends life = make_pipe();
  std::vector<std::string> words = {rondo_program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::string variable = options.environment;
  process_ = ::fork();
  EXPECT_GE(process_, 0);
  if (process_ == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)::setpgid(0, 0);
    ::alarm(0);
    take_signals();
    (void)::dup2(in.read.get(), 0);
    (void)::dup2(out.write.get(), 1);
    (void)::dup2(err.write.get(), 2);
    (void)::fcntl(life.write.get(), F_SETFD, 0);
    if (!variable.empty()) (void)::putenv(variable.data());
    if (options.closed_output) out.read.reset();
    ::execv(pointers.front(), pointers.data());
    ::_exit(125);
  }
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  life_ = std::move(life.read);
  if (options.closed_output) out_.reset();
  // Small enough for the pipe.
  EXPECT_EQ(::write(in.write.get(), options.input.data(), options.input.size()),
            static_cast<ssize_t>(options.input.size()));
}

Command::~Command() {
  if (process_ < 0) return;
  (void)::kill(process_, SIGKILL);
  (void)::waitpid(process_, nullptr, 0);
}

void Command::signal(int signal) const { EXPECT_EQ(::kill(process_, signal), 0); }

bool Command::read_some() {
  std::array<pollfd, 2> polled{{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
  if (!out_ && !err_) return false;
  if (::poll(polled.data(), polled.size(), -1) < 0) return true;
  if (out_ && polled[0].revents != 0) read_into(ended_.out, out_);
  if (err_ && polled[1].revents != 0) read_into(ended_.err, err_);
  return true;
}

const std::string& Command::await(const std::string& text, std::size_t count) {
  while (count_of(ended_.out + ended_.err, text) < count && read_some()) continue;
  EXPECT_GE(count_of(ended_.out + ended_.err, text), count) << text << "\n" << ended_.out << ended_.err;
  return ended_.out;
}

Ended Command::wait() {
  while (read_some()) continue;
  int status = 0;
  EXPECT_EQ(::waitpid(process_, &status, 0), process_);
  process_ = -1;
  ended_.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ended_;
}

void Command::await_nobody() {
  std::string nothing;
  while (life_ && read_into(nothing, life_)) continue;
}

Ended run_rondo(const std::vector<std::string>& arguments, const Command::Options& options) {
  Command command(arguments, options);
  Ended ended = command.wait();
  command.await_nobody();
  return ended;
}

std::vector<std::string> ranks_of_shell(int ranks, const std::vector<std::string>& options,
                                        const std::string& script) {
  std::vector<std::string> words = {"run", "-n", std::to_string(ranks)};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "sh", "-c", script});
  return words;
}

std::vector<std::string> ranks_of(int ranks, const std::vector<std::string>& options,
                                  const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"run", "-n", std::to_string(ranks)};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", rank_program});
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++count;
  return count;
}

}  // namespace rondo::test
