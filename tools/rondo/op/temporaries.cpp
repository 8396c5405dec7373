#include "op/temporaries.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace rondo::tools::op {

namespace {

sigset_t signals_that_end() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&set, number);
  }
  return set;
}

void end_by(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
}

}  // namespace

Temporaries::Temporaries() {
  const sigset_t set = signals_that_end();
  signals_ = base::Fd(signalfd(-1, &set, SFD_CLOEXEC));
  stop_ = base::Fd(eventfd(0, EFD_CLOEXEC));
  if (!signals_ || !stop_) throw std::runtime_error("no descriptor for signals: " + base::error_words(errno));
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::thread([this] { watch(); });
}

Temporaries::~Temporaries() {
  const std::uint64_t one = 1;
  // An eventfd with room for the number takes it at once.
  [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof(one));
  watcher_.join();
  const sigset_t set = signals_that_end();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

base::Fd Temporaries::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  base::Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file) paths_.insert(path);
  return file;
}

bool Temporaries::rename(const std::string& path, const std::string& target) {
  const std::lock_guard lock(mutex_);
  if (::rename(path.c_str(), target.c_str()) != 0) return false;
  paths_.erase(path);
  return true;
}

void Temporaries::remove(const std::string& path) noexcept {
  const std::lock_guard lock(mutex_);
  if (paths_.erase(path) > 0) unlink(path.c_str());
}

void Temporaries::watch() {
  std::array<pollfd, 2> wanted = {{{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  while (poll(wanted.data(), wanted.size(), -1) < 0) {
    if (errno != EINTR) return;
  }
  if ((wanted[0].revents & POLLIN) == 0) return;
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return;
  const std::lock_guard lock(mutex_);  // no file is made or named while these go
  for (const std::string& path : paths_) unlink(path.c_str());
  end_by(static_cast<int>(info.ssi_signo));
}

}  // namespace rondo::tools::op
