#include "run/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include "run/system.hpp"

namespace rondo::tools::run {

Signals::Signals() {
  (void)::signal(SIGPIPE, SIG_IGN);
  sigset_t taken;
  ::sigemptyset(&taken);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT})
    ::sigaddset(&taken, each);
  (void)::pthread_sigmask(SIG_BLOCK, &taken, &before_);
  fd_ = base::Fd(checked(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK), "no signalfd"));
}

int Signals::take() {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof(info)) == ssize_t{sizeof(info)} ? static_cast<int>(info.ssi_signo)
                                                                         : 0;
}

}  // namespace rondo::tools::run
