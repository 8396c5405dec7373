#include "rendezvous/star_link.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace rondo::rendezvous {

void StarLink::flush() {
  while (!out_.empty()) {
    const std::string& frame = *out_.front();
    const net::Moved moved = stream_.writev(std::as_bytes(std::span(frame)).subspan(written_), {});
    if (moved.state == net::Moved::State::blocked) return;
    if (moved.state == net::Moved::State::closed) {
      give_up_output();  // what the other side said before it went is still to be read
      return;
    }
    written_ += moved.bytes;
    if (written_ < frame.size()) continue;
    written_ = 0;
    out_.pop_front();
  }
}

void StarLink::give_up_output() noexcept {
  lost_output_ = lost_output_ || !out_.empty();
  out_.clear();
}

void StarLink::turn() {
  if (closed_) return;
  flush();
  // Bounded, so that nobody who sends and sends keeps the others waiting.
  constexpr int most_pieces = 64;
  std::array<std::byte, 16384> piece;
  for (int i = 0; i < most_pieces; ++i) {
    const net::Moved moved = stream_.read(piece);
    if (moved.state == net::Moved::State::blocked) return;
    if (moved.state == net::Moved::State::closed) {
      closed_ = true;
      give_up_output();
      return;
    }
    reader_.feed(std::span(piece).first(moved.bytes));
  }
}

void wait_for_any(std::vector<pollfd>& polled, base::TimePoint until, base::Scheduler& scheduler) {
  using std::chrono::milliseconds;
  constexpr base::Duration longest = std::chrono::minutes(10);
  const base::Duration left =
      until == base::never
          ? longest
          : std::clamp<base::Duration>(until - scheduler.now(), base::Duration::zero(), longest);
  // A failure here means that a descriptor is broken, which whoever uses it will notice.
  (void)::poll(polled.data(), polled.size(), static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
}

}  // namespace rondo::rendezvous
