// Bytes read as a tuning: either Error(invalid_argument), or rows every one of which can serve what fits it.

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "collective/tuning.hpp"
#include "rondo/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using rondo::collective::Algorithm;
  try {
    for (const auto& row :
         rondo::collective::parse_tuning({reinterpret_cast<const char*>(data), size}, "T")) {
      const bool sane = row.bytes_from <= row.bytes_to && row.size_from >= 2 &&
                        row.size_from <= row.size_to && (row.algorithm != Algorithm::flat || row.arena == 1);
      if (!sane) std::abort();
    }
  } catch (const rondo::Error& error) {
    if (error.kind() != rondo::ErrorKind::invalid_argument) std::abort();
  }
  return 0;
}
