// The beginning of a .npy file. Whatever it is: either an error in one printable line, or a header whose
// elements can be counted, and which reads back as the same when it is written.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

#include "op/npy.hpp"

namespace {

using namespace rondo::tools::op;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_refusal(const std::string& text) {
  require(!text.empty() && text.size() < 1024);
  for (const char c : text) require(c >= 0x20 && c < 0x7F);
}

void require_round_trip(const NpyHeader& header) {
  const std::string written = make_npy_header(header.dtype, header.shape);
  require(written.size() % 64 == 0);
  const NpyHeader again = parse_npy(std::as_bytes(std::span(written)));
  require(again.dtype == header.dtype && again.shape == header.shape && again.offset == written.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  NpyHeader header;
  try {
    header = parse_npy(std::as_bytes(std::span(data, size)));
  } catch (const std::runtime_error& error) {
    require_refusal(error.what());
    return 0;
  }
  require(header.offset <= size && !npy_name(header.dtype).empty());
  (void)rondo::byte_size(header.dtype, header.shape);  // throws where it cannot be counted
  require_round_trip(header);
  return 0;
}
