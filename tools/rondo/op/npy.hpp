#pragma once
/// NumPy's .npy format: the header before the elements. Versions 1.0 to 3.0, little-endian, C order, and the
/// element types that NumPy and rondo share.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "rondo/dtype.hpp"
#include "rondo/view.hpp"

namespace rondo::tools::op {

/// What a header says.
struct NpyHeader {
  DType dtype = DType::uint8;
  Shape shape;
  std::size_t offset = 0;  ///< bytes before the first element
};

/// More bytes than this in a header are refused: what rondo can take needs a hundred or two.
inline constexpr std::size_t npy_header_limit = 65535;

/// Reads the header at the beginning of `file`, which may be a whole file or as much of it as there is.
/// Throws std::runtime_error whose text goes behind a file name and a colon: what was found, what was
/// expected. Whether the elements are all there is for the caller to see.
NpyHeader parse_npy(std::span<const std::byte> file);

/// A header of version 1.0, padded so that the elements begin at a multiple of 64. `dtype` must have a NumPy
/// name.
std::string make_npy_header(DType dtype, std::span<const std::int64_t> shape);

/// The name in a header, such as "<f4"; empty where NumPy has none (bfloat16, float8).
std::string_view npy_name(DType dtype) noexcept;

}  // namespace rondo::tools::op
