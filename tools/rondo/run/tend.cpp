// The inside of the nursery, and of the ranks until they become the program.

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "run/descendants.hpp"
#include "run/nursery.hpp"

namespace rondo::tools::run {

namespace {

constexpr int not_found = 127;
constexpr int not_runnable = 126;

void report(int reports, Report::Kind kind, std::size_t rank, int value) {
  const Report line{kind, static_cast<std::int32_t>(rank), value};
  // A launcher that is gone hears nothing; the end of its commands says so.
  while (::write(reports, &line, sizeof(line)) < 0 && errno == EINTR) continue;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Those of this program but the ones to keep: what others have left open for the ranks stays.
void close_own_but(const std::set<int>& keep) {
  std::vector<int> own;
  std::error_code ignored;
  for (auto each = std::filesystem::directory_iterator("/proc/self/fd", ignored);
       !ignored && each != std::filesystem::directory_iterator(); each.increment(ignored)) {
    const int fd = std::atoi(each->path().filename().c_str());
    if (fd > 2 && !keep.contains(fd) && (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) own.push_back(fd);
  }
  for (const int fd : own) (void)::close(fd);
}

/// The rank's process, until it is the program.
[[noreturn]] void become(const Start& start, std::size_t rank, const sigset_t& signals, pid_t parent,
                         int reports) {
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(not_runnable);  // it died before the line above
  const std::vector<char*> arguments = pointers_to(start.arguments);
  const std::vector<char*> variables = pointers_to(start.environment);
  const bool wired = ::dup2(start.in, 0) >= 0 && ::dup2(start.out, 1) >= 0 && ::dup2(start.err, 2) >= 0 &&
                     ::fcntl(start.secret, F_SETFD, 0) >= 0;
  (void)::signal(SIGPIPE, SIG_DFL);
  (void)::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
  if (wired) ::execvpe(arguments.front(), arguments.data(), variables.data());
  const int error = errno;
  report(reports, Report::Kind::not_run, rank, error);
  ::_exit(error == ENOENT || error == ENOTDIR ? not_found : not_runnable);
}

class Tender {
 public:
  Tender(int commands, int reports) : commands_(commands), reports_(reports) {
    sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    deaths_ = base::Fd(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void start(const std::vector<Start>& starts, const sigset_t& signals) {
    const pid_t self = ::getpid();
    for (std::size_t rank = 0; rank < starts.size(); ++rank) {
      const pid_t child = ::fork();
      if (child == 0) become(starts[rank], rank, signals, self, reports_);
      if (child < 0) {
        report(reports_, Report::Kind::not_started, rank, errno);
        continue;
      }
      (void)::setpgid(child, child);  // whoever comes first
      report(reports_, Report::Kind::began, rank, child);
      ranks_[child] = rank;
    }
  }

  int deaths() const noexcept { return deaths_.get(); }

  /// Until the launcher has no more commands.
  void run() {
    for (;;) {
      std::array<pollfd, 2> polled{{{commands_, POLLIN, 0}, {deaths_.get(), POLLIN, 0}}};
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
      if (polled[1].revents != 0) reap();
      if (polled[0].revents != 0 && !obey()) return;
    }
  }

 private:
  void reap() {
    signalfd_siginfo taken{};
    while (::read(deaths_.get(), &taken, sizeof(taken)) > 0) continue;
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = ranks_.find(ended);
      if (found == ranks_.end()) continue;  // somebody's orphan
      report(reports_, Report::Kind::ended, found->second, status);
      ranks_.erase(found);
    }
  }

  bool obey() {
    unsigned char signal = 0;
    const ssize_t got = ::read(commands_, &signal, 1);
    if (got < 0) return errno == EINTR;
    if (got == 0) return false;
    // None of them has been reaped, so the numbers are theirs.
    for (const auto& [process, rank] : ranks_) (void)::kill(-process, signal);
    return true;
  }

  int commands_;
  int reports_;
  base::Fd deaths_;
  std::map<pid_t, std::size_t> ranks_;  // those that have not ended
};

}  // namespace

int tend_ranks(const std::vector<Start>& starts, const sigset_t& signals, int commands, int reports) {
  (void)::signal(SIGPIPE, SIG_IGN);
  (void)::signal(SIGCHLD, SIG_DFL);  // were it ignored, nobody would hear of deaths
  sigset_t all;
  ::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  (void)::prctl(PR_SET_NAME, "rondo-ranks", 0, 0, 0);
  adopt_orphans();
  Tender tender(commands, reports);
  // A pipe has an end only when nobody holds the other one.
  std::set<int> needed = {tender.deaths(), commands, reports};
  for (const Start& start : starts) needed.insert({start.in, start.out, start.err, start.secret});
  close_own_but(needed);
  tender.start(starts, signals);
  close_own_but({tender.deaths(), commands, reports});  // what the ranks have
  tender.run();
  kill_descendants({});
  return 0;
}

}  // namespace rondo::tools::run
