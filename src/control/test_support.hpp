#pragma once
/// Tests only: processes of a job with a watcher each, and a group that writes down what it is told.

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "control/watcher.hpp"

namespace rondo::control::test {

inline constexpr base::Duration plenty = std::chrono::seconds(60);

inline base::Deadline within(base::Duration limit) { return {base::real_scheduler(), limit}; }
inline base::Deadline ample() { return within(plenty); }
inline net::Address loopback() { return net::resolve({"127.0.0.1", 0}).front(); }
inline Identity identity(int rank) { return {.rank = rank, .size = 6, .job = {}, .secret = "s"}; }

/// Writes down what it is told.
class Ear final : public Watched {
 public:
  void ended(const Failure& cause) override { write(causes_, cause); }
  void lost(int peer, const std::string& text) override { write(losses_, std::pair(peer, text)); }
  void connected(int peer, net::SocketStream stream) override {
    write(wires_, std::pair(peer, std::make_shared<net::SocketStream>(std::move(stream))));
  }
  void unconnected(int peer, const std::string& why) override { write(refusals_, std::pair(peer, why)); }
  void left(int peer) override { write(left_, peer); }

  /// Whether so many have come, within ample time.
  bool hears_ended(std::size_t count) { return hears(causes_, count); }
  bool hears_lost(std::size_t count) { return hears(losses_, count); }
  bool hears_connected(std::size_t count) { return hears(wires_, count); }
  bool hears_unconnected(std::size_t count) { return hears(refusals_, count); }
  bool hears_left(std::size_t count) { return hears(left_, count); }
  std::vector<Failure> causes() const { return copy(causes_); }
  std::vector<std::pair<int, std::string>> losses() const { return copy(losses_); }
  std::vector<std::pair<int, std::shared_ptr<net::SocketStream>>> wires() const { return copy(wires_); }
  std::vector<std::pair<int, std::string>> refusals() const { return copy(refusals_); }
  std::vector<int> who_left() const { return copy(left_); }

 private:
  template <class T>
  void write(std::vector<T>& to, const T& entry) {
    std::lock_guard lock(mutex_);
    to.push_back(entry);
    heard_.notify_all();
  }
  template <class T>
  bool hears(const std::vector<T>& entries, std::size_t count) {
    std::unique_lock lock(mutex_);
    return heard_.wait_for(lock, plenty, [&] { return entries.size() >= count; });
  }
  template <class T>
  std::vector<T> copy(const std::vector<T>& entries) const {
    std::lock_guard lock(mutex_);
    return entries;
  }

  mutable std::mutex mutex_;
  std::condition_variable heard_;
  std::vector<Failure> causes_;
  std::vector<std::pair<int, std::string>> losses_;
  std::vector<std::pair<int, std::shared_ptr<net::SocketStream>>> wires_;
  std::vector<std::pair<int, std::string>> refusals_;
  std::vector<int> left_;
};

inline std::vector<net::Listener> one(net::Listener listener) {
  std::vector<net::Listener> all;
  all.push_back(std::move(listener));
  return all;
}

/// A process of the job: where it listens, and its watcher.
struct Process {
  explicit Process(int its_rank) : rank(its_rank) {
    net::Listener listener(loopback());
    where = listener.bound();
    watcher =
        std::make_unique<Watcher>(identity(rank), one(std::move(listener)), [this](const std::string& line) {
          std::lock_guard lock(mutex);
          reports.push_back(line);
        });
  }
  std::size_t reported() {
    std::lock_guard lock(mutex);
    return reports.size();
  }

  int rank;
  net::Address where;
  std::mutex mutex;
  std::vector<std::string> reports;
  std::unique_ptr<Watcher> watcher;  // last: it reports to what is above
};

inline net::SocketStream open(int from, const Process& to, Purpose purpose, std::uint64_t group = 0) {
  base::Deadline deadline = ample();
  net::SocketStream stream(net::connect(to.where, deadline));
  Hello hello = hello_of(identity(from), purpose);
  hello.to = to.rank;
  hello.group = group;
  introduce(stream, hello, "s", deadline);
  return stream;
}

/// The far end of a control connection that `process` watches from now on. `listens` is where it is told to
/// call that rank.
inline net::SocketStream controlled(Process& process, int rank, const net::Address& listens = {}) {
  net::SocketStream outside = open(rank, process, Purpose::control);
  base::Deadline deadline = ample();
  process.watcher->watch(rank, process.watcher->await(Purpose::control, 0, rank, deadline), listens);
  return outside;
}

/// Both watch each other.
inline void meet(Process& lower, Process& higher) {
  higher.watcher->watch(lower.rank, controlled(lower, higher.rank, higher.where), lower.where);
}

inline void write(const net::SocketStream& stream, std::span<const std::byte> bytes) {
  base::Deadline deadline = ample();
  net::write_all(stream.fd(), bytes, deadline);
}

}  // namespace rondo::control::test
