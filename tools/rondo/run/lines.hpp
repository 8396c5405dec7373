#pragma once
/// Cuts what a rank writes into lines.

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo::tools::run {

/// Hands on whole lines, each behind a prefix. What is kept never grows beyond `most` bytes: a longer line
/// comes in pieces of that length, each a line of its own where there is a prefix.
class LineCutter {
 public:
  static constexpr std::size_t usual_most = std::size_t{256} * 1024;

  /// An empty prefix: bytes are handed on unchanged, whole lines at a time.
  explicit LineCutter(std::string prefix, std::size_t most = usual_most)
      : prefix_(std::move(prefix)), most_(most) {}

  /// Appends to `out` what is complete now.
  void feed(std::string_view bytes, std::string& out);
  /// Nothing more will come: appends a last line that has no end.
  void finish(std::string& out);
  std::size_t kept() const noexcept { return kept_.size(); }

 private:
  void put(std::string_view rest, bool ended, std::string& out);

  std::string prefix_;
  std::size_t most_;
  std::string kept_;  // of the line under way
};

}  // namespace rondo::tools::run
