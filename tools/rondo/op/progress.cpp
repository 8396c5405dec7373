#include "op/progress.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace rondo::tools::op {

Progress::Progress(How how, std::string name, std::size_t pieces)
    : how_(how), name_(std::move(name)), pieces_(pieces) {}

Progress::~Progress() {
  if (told_ && how_ == How::in_place) std::fputc('\n', stderr);
}

void Progress::tell(std::size_t done, std::size_t bytes) {
  if (how_ == How::silent) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  using namespace std::chrono_literals;
  next_ = now + (how_ == How::in_place ? 200ms : 1000ms);
  told_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double megabytes = static_cast<double>(bytes) / 1e6;
  const std::string text = fmt::format("rondo op: {}: {} of {} pieces, {:.0f} MB, {:.0f} MB/s", name_, done,
                                       pieces_, megabytes, megabytes / seconds);
  if (how_ == How::in_place) {
    fmt::print(stderr, "\r{}\033[K", text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace rondo::tools::op
