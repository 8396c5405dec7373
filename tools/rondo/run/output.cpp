#include "run/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "run/system.hpp"

namespace rondo::tools::run {

namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

bool is_ready(const std::vector<pollfd>& polled, std::size_t at) {
  return at < polled.size() && polled[at].revents != 0;
}

}  // namespace

Output::Output(int out, int err) : out_(out), err_(err), one_file_(same_file(out, err)) {}

void Output::add(Kind kind, base::Fd source, const std::string& prefix) {
  make_nonblocking(source.get());
  Sink* const sink = kind == Kind::out || one_file_ ? &out_ : &err_;
  sources_.push_back({std::move(source), sink, LineCutter(prefix), nowhere});
}

void Output::say(std::string_view line) {
  Sink& sink = one_file_ ? out_ : err_;
  sink.put(line);
  sink.put("\n");
}

void Output::append_to(std::vector<pollfd>& polled) {
  for (Source& source : sources_) {
    source.polled_at = nowhere;
    if (source.sink->full()) continue;
    source.polled_at = polled.size();
    polled.push_back({source.fd.get(), POLLIN, 0});
  }
  for (const Sink* sink : {&out_, &err_})
    if (sink->has_output()) polled.push_back({sink->fd(), POLLOUT, 0});
}

void Output::turn(const std::vector<pollfd>& polled) {
  for (Source& source : sources_)
    if (is_ready(polled, source.polled_at) || (last_ && !source.sink->full())) read(source);
  for (Sink* sink : {&out_, &err_}) {
    const bool ready = std::ranges::any_of(
        polled, [sink](const pollfd& each) { return each.fd == sink->fd() && each.revents != 0; });
    if (ready || sink->broken()) sink->flush();
  }
  // Whoever writes on hears of it as if it had written to the broken one itself.
  std::erase_if(sources_, [](const Source& source) { return !source.fd || source.sink->broken(); });
}

void Output::read(Source& source) {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(source.fd.get(), bytes.data(), bytes.size());
  if (got > 0) {
    source.lines.feed({bytes.data(), static_cast<std::size_t>(got)}, source.sink->queue());
    return;
  }
  if (got < 0 && (errno == EINTR || (errno == EAGAIN && !last_))) return;
  source.lines.finish(source.sink->queue());
  source.fd.reset();
}

bool Output::over() const noexcept { return sources_.empty() && !out_.has_output() && !err_.has_output(); }

int Output::error() const noexcept { return is_left() ? 0 : out_.error(); }

}  // namespace rondo::tools::run
