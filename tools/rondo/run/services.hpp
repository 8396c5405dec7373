#pragma once
/// What the launcher does for its job besides holding its processes: it serves the rendezvous, and tells who
/// is lost.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "base/scheduler.hpp"
#include "control/handshake.hpp"
#include "control/watcher.hpp"
#include "net/socket.hpp"
#include "run/system.hpp"

namespace rondo::tools::run {

/// A secret that ranks can read at offset 0 and nobody can change: 32 random bytes as hexadecimal digits.
struct Secret {
  std::string text;
  base::Fd file;
};
Secret make_secret();

class Services {
 public:
  /// Listens on two free ports of the loopback. No threads yet.
  Services(int size, const std::string& secret);
  ~Services();

  /// "127.0.0.1:PORT", as RONDO_RENDEZVOUS and RONDO_LAUNCHER say it.
  const std::string& rendezvous() const noexcept { return rendezvous_; }
  const std::string& launcher() const noexcept { return launcher_; }

  /// Starts the threads. `report` takes a line about strangers, on any thread.
  void start(control::HandshakeHall::Report report);
  /// Tells all ranks, in set-up or after it, that this one is gone: "killed by signal 9 (SIGKILL)".
  void tell_lost(int rank, const std::string& why);

 private:
  void serve(const control::HandshakeHall::Report& report);
  std::optional<base::Problem> reason_to_stop(std::size_t joined);

  control::Identity identity_;
  net::Listener meeting_;
  net::Listener control_;
  std::string rendezvous_;
  std::string launcher_;
  std::unique_ptr<control::Watcher> watcher_;
  Wake wake_;
  std::mutex mutex_;
  bool over_ = false;
  std::optional<base::Problem> lost_;  // who was lost first, until those who are in set-up have been told
  base::Thread thread_;
};

}  // namespace rondo::tools::run
