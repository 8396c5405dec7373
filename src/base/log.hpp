#pragma once
/// The few words that rondo says on its own.

#include <functional>
#include <string>

namespace rondo::base {

/// Takes one finished line without its end. Called from any thread.
using LogSink = std::function<void(const std::string& line)>;

/// Writes the line to stderr, whole.
void log_to_stderr(const std::string& line);

/// Where warnings of a set-up go. Made from Config::log; safe for several threads when its sink is.
class Log {
 public:
  explicit Log(bool enabled, LogSink sink = log_to_stderr);
  /// One line: `rondo: text`. Nothing when the log is off.
  void warn(const std::string& text) const;

 private:
  bool enabled_;
  LogSink sink_;
};

}  // namespace rondo::base
