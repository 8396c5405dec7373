// A text read as a hostfile. Whatever it is: either Problem(invalid_argument) in one line, or a file that
// reads back as the same.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/problem.hpp"
#include "rendezvous/hostfile.hpp"

namespace {

using namespace rondo::rendezvous;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_refusal(const rondo::base::Problem& problem) {
  require(problem.kind() == rondo::ErrorKind::invalid_argument);
  require(std::string_view(problem.what()).find('\n') == std::string_view::npos);
}

std::string written(const Hostfile& file) {
  std::string text;
  for (const auto& rank : file.ranks) {
    std::string list;
    for (const auto& each : rank) list += (list.empty() ? "\"" : ",\"") + to_string(each) + '"';
    text += (text.empty() ? "[[" : ",[") + list + ']';
  }
  return text + ']';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Hostfile file = parse_hostfile({reinterpret_cast<const char*>(data), size}, "h");
    require(file.size() > 0);
    require(written(parse_hostfile(written(file), "h")) == written(file));
    check_ring(file, file.size() / 2);
  } catch (const rondo::base::Problem& problem) {
    require_refusal(problem);
  }
  return 0;
}
