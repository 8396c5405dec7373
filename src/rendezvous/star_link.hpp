#pragma once
/// One connection of a star, at either end: frames in, frames out, nothing waits.

#include <poll.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.hpp"
#include "net/socket.hpp"
#include "rendezvous/star_frames.hpp"

namespace rondo::rendezvous {

/// An encoded frame that goes to many.
using SharedBytes = std::shared_ptr<const std::string>;

class StarLink {
 public:
  explicit StarLink(net::SocketStream stream) : stream_(std::move(stream)) {}

  int fd() const noexcept { return stream_.fd(); }
  void put(SharedBytes frame) { out_.push_back(std::move(frame)); }
  void put(const StarFrame& frame) { put(std::make_shared<const std::string>(encode(frame))); }
  bool has_output() const noexcept { return !out_.empty(); }
  /// The other side is gone; frames that came before can still be taken.
  bool closed() const noexcept { return closed_; }
  /// It went before it had taken everything.
  bool lost_output() const noexcept { return lost_output_; }
  /// What a poll should wait for.
  pollfd polled() const noexcept {
    return {fd(), static_cast<short>(has_output() ? POLLIN | POLLOUT : POLLIN), 0};
  }

  /// Sends what can be sent; reads nothing.
  void flush();
  /// Moves what can be moved, both ways. Throws Problem(disconnected) when the other side sends no frames.
  void turn();
  std::optional<StarFrame> next() { return reader_.next(); }

 private:
  void give_up_output() noexcept;

  net::SocketStream stream_;
  StarReader reader_;
  std::deque<SharedBytes> out_;
  std::size_t written_ = 0;  // of the first of out_
  bool closed_ = false;
  bool lost_output_ = false;
};

/// Waits until one of them is ready or `until`.
void wait_for_any(std::vector<pollfd>& polled, base::TimePoint until, base::Scheduler& scheduler);

}  // namespace rondo::rendezvous
