#include "run/descendants.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace rondo::tools::run {

namespace {

std::optional<pid_t> number_in(std::string_view text) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

// From `pid (name) state parent ...`; the name may hold anything.
std::optional<pid_t> parent_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  if (!std::getline(file, text, '\0')) return std::nullopt;
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return std::nullopt;
  return number_in(std::string_view(text).substr(name_end + 4));
}

}  // namespace

std::set<pid_t> children_of_this_process() {
  std::set<pid_t> children;
  const pid_t self = ::getpid();
  std::error_code ignored;
  for (auto each = std::filesystem::directory_iterator("/proc", ignored);
       !ignored && each != std::filesystem::directory_iterator(); each.increment(ignored)) {
    const auto pid = number_in(each->path().filename().native());
    if (pid && parent_of(each->path()) == self) children.insert(*pid);
  }
  return children;
}

void adopt_orphans() { (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

void kill_descendants(const std::set<pid_t>& keep) {
  for (;;) {
    // Most often there is none, and then nobody need look.
    if (keep.empty() && ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    std::set<pid_t> children = children_of_this_process();
    for (const pid_t kept : keep) children.erase(kept);
    if (children.empty()) return;
    for (const pid_t child : children) (void)::kill(child, SIGKILL);
    for (const pid_t child : children) {
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    }
  }
}

}  // namespace rondo::tools::run
