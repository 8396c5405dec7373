// Bytes of a peer read as frames of a control connection, in pieces. Whatever they are: either they are
// refused, or they are read and encode to the same bytes again.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "base/problem.hpp"
#include "control/frames.hpp"

namespace {

using namespace rondo::control;

void require(bool condition) {
  if (!condition) std::abort();
}

void read_frames(std::span<const std::byte> input, std::size_t piece) {
  ControlReader reader;
  std::vector<std::byte> again;
  std::size_t fed = 0;
  try {
    while (fed < input.size()) {
      const auto now = input.subspan(fed, std::min(piece, input.size() - fed));
      reader.feed(now);
      fed += now.size();
      while (const auto frame = reader.next()) {
        require(frame->cause.text.size() <= ControlFrame::most_text);
        const auto bytes = encode(*frame);
        again.insert(again.end(), bytes.begin(), bytes.end());
      }
    }
  } catch (const rondo::base::Problem& problem) {
    require(problem.kind() == rondo::ErrorKind::disconnected);
  }
  require(again.size() <= fed && std::equal(again.begin(), again.end(), input.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  read_frames(input, 1U + data[0]);
  read_frames(input, input.size());
  return 0;
}
