#pragma once
/// Files that must not stay when the process is told to end.

#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/fd.hpp"

namespace rondo::tools::op {

/// Makes temporary files, and removes those that are left when SIGINT, SIGTERM, SIGHUP or SIGQUIT comes; the
/// process then ends by that signal. Make it before any other thread: threads made later inherit that these
/// signals are blocked, and a thread of this object alone takes them. Signals that were ignored stay so.
class Temporaries {
 public:
  Temporaries();
  ~Temporaries();
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;

  /// A new, empty file to read and write. An empty Fd, and errno, when it cannot be made.
  base::Fd create(const std::string& path);
  /// Gives the file its final name, replacing what has it. False, and errno, when that fails.
  bool rename(const std::string& path, const std::string& target);
  void remove(const std::string& path) noexcept;

 private:
  void watch();

  std::mutex mutex_;
  std::set<std::string> paths_;
  base::Fd signals_;
  base::Fd stop_;
  std::thread watcher_;
};

}  // namespace rondo::tools::op
