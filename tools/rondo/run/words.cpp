#include "run/words.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>

namespace rondo::tools::run {

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string ending_of(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("killed by signal {} (SIG{})", signal, name)
                         : fmt::format("killed by signal {}", signal);
}

std::string sentence_of(int wait_status) {
  return WIFEXITED(wait_status) ? ending_of(wait_status) : "was " + ending_of(wait_status);
}

int exit_status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace rondo::tools::run
