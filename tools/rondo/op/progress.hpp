#pragma once
/// Tells a person how far a long operation is.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rondo::tools::op {

class Progress {
 public:
  enum class How : std::uint8_t {
    silent,
    in_place,  ///< one line of a terminal, written over
    lines,     ///< a line now and then
  };

  Progress(How how, std::string name, std::size_t pieces);
  /// Ends the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` pieces are through, `bytes` of this rank in all. Says nothing in the first second.
  void tell(std::size_t done, std::size_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  How how_;
  std::string name_;
  std::size_t pieces_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_ = begin_ + std::chrono::seconds(1);
  bool told_ = false;
};

}  // namespace rondo::tools::op
