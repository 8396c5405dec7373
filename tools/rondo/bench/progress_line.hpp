#pragma once
/// Tells a person at a terminal which row is being measured.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rondo::tools::bench {

enum class Telling : std::uint8_t {
  silent,
  in_place,  ///< a line of a terminal on standard error, written over
  lines,     ///< a line now and then
};

class ProgressLine {
 public:
  ProgressLine(Telling how, std::size_t rows) : how_(how), rows_(rows) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// The next row begins.
  void begin(const std::string& what);
  /// Makes room for what goes to the same terminal.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::string left_text(Clock::time_point now) const;

  Telling how_;
  std::size_t rows_;
  std::size_t done_ = 0;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_;
};

}  // namespace rondo::tools::bench
