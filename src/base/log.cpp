#include "base/log.hpp"

#include <cstdio>
#include <utility>

namespace rondo::base {

void log_to_stderr(const std::string& line) {
  // One call, so that lines of several threads do not mix.
  const std::string whole = line + '\n';
  (void)std::fwrite(whole.data(), 1, whole.size(), stderr);
}

Log::Log(bool enabled, LogSink sink) : enabled_(enabled), sink_(std::move(sink)) {}

void Log::warn(const std::string& text) const {
  if (!enabled_) return;
  std::string line = "rondo: " + text;
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  sink_(line);
}

}  // namespace rondo::base
