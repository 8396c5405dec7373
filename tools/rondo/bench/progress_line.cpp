#include "bench/progress_line.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace rondo::tools::bench {

// Rows differ, so this is the guess of one who has seen the ones before.
std::string ProgressLine::left_text(Clock::time_point now) const {
  if (done_ == 0) return {};
  const double each = std::chrono::duration<double>(now - start_).count() / static_cast<double>(done_);
  return fmt::format(", some {:.0f} s left", each * static_cast<double>(rows_ - done_));
}

void ProgressLine::begin(const std::string& what) {
  const Clock::time_point now = Clock::now();
  const std::string text =
      fmt::format("rondo bench: row {} of {}: {}{}", done_ + 1, rows_, what, left_text(now));
  ++done_;
  if (how_ == Telling::in_place) {
    fmt::print(stderr, "\r{}\033[K", text);
    shown_ = true;
  } else if (how_ == Telling::lines && now >= next_) {
    fmt::print(stderr, "{}\n", text);
    next_ = now + std::chrono::seconds(1);
  }
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace rondo::tools::bench
