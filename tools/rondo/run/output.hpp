#pragma once
/// What the ranks write, on its way to the launcher's own output.

#include <poll.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "run/lines.hpp"
#include "run/sink.hpp"

namespace rondo::tools::run {

class Output {
 public:
  /// Writes to these descriptors, which are one file or two.
  Output(int out, int err);

  /// What a rank writes to its standard output or error.
  enum class Kind : std::uint8_t { out, err };
  void add(Kind kind, base::Fd source, const std::string& prefix);

  /// A line of the launcher's own, on standard error.
  void say(std::string_view line);

  void append_to(std::vector<pollfd>& polled);
  /// Moves what can be moved; `polled` is what append_to has added, after a poll.
  void turn(const std::vector<pollfd>& polled);

  /// No process is left that could write: what stands in the pipes is all there is.
  void no_more() noexcept { last_ = true; }
  /// Everything has been read and written, or cannot be.
  bool over() const noexcept;
  /// Whoever read standard output has left.
  bool is_left() const noexcept { return out_.error() == EPIPE; }
  /// errno of standard output when something else broke it than a reader that left.
  int error() const noexcept;

 private:
  struct Source {
    base::Fd fd;
    Sink* sink;
    LineCutter lines;
    std::size_t polled_at = 0;
  };
  void read(Source& source);

  Sink out_;
  Sink err_;
  bool one_file_;
  bool last_ = false;
  std::vector<Source> sources_;
};

}  // namespace rondo::tools::run
