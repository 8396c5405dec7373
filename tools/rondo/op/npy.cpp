#include "op/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "op/npy_dict.hpp"
#include "rondo/error.hpp"

namespace rondo::tools::op {

namespace {

static_assert(std::endian::native == std::endian::little, "elements are mapped as they lie in the file");

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr std::size_t before_length = 8;  // magic and version

struct Name {
  DType dtype;
  std::string_view text;
};
constexpr std::array<Name, 14> names = {{{DType::bool_, "|b1"},
                                         {DType::int8, "|i1"},
                                         {DType::int16, "<i2"},
                                         {DType::int32, "<i4"},
                                         {DType::int64, "<i8"},
                                         {DType::uint8, "|u1"},
                                         {DType::uint16, "<u2"},
                                         {DType::uint32, "<u4"},
                                         {DType::uint64, "<u8"},
                                         {DType::float16, "<f2"},
                                         {DType::float32, "<f4"},
                                         {DType::float64, "<f8"},
                                         {DType::complex64, "<c8"},
                                         {DType::complex128, "<c16"}}};

[[noreturn]] void refuse(const std::string& text) { throw std::runtime_error(text); }

std::size_t number_at(std::span<const std::byte> file, std::size_t at, std::size_t bytes) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::size_t>(file[at + i]) << (8 * i);
  return value;
}

// Why a type that is none of ours is refused. `kind` is the letter behind the byte order.
std::string_view why_not(char kind) {
  switch (kind) {
    case 'O':
      return "Python objects cannot be moved";
    case 'S':
    case 'a':
    case 'U':
      return "strings cannot be moved";
    case 'V':
      return "raw bytes have no type (NumPy has no name for bfloat16 and float8, so .npy files cannot carry "
             "them)";
    case 'M':
    case 'm':
      return "dates and times cannot be moved; their int64 view can";
    default:
      return "expected bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 or complex128";
  }
}

DType dtype_of_descr(const NpyDict& dict) {
  const std::string_view text = dict.descr;
  const auto no = [&](std::string_view why) { refuse(fmt::format("its type is {}: {}", quote(text), why)); };
  if (text.size() < 2) no("not the name of a type");
  const char order = text[0];
  const std::string_view type = text.substr(1);
  const auto found =
      std::ranges::find_if(names, [&](const Name& name) { return name.text.substr(1) == type; });
  const bool known = found != names.end();
  if (!known && std::string_view("<>|=").find(order) == std::string_view::npos) no("not the name of a type");
  if (!known) no(why_not(type[0]));
  if (order == '>') no("big-endian; expected little-endian");
  if (order == '|' && size_of(found->dtype) > 1) no("no byte order given; expected '<'");
  if (order != '<' && order != '|' && order != '=') no("not the name of a type");
  return found->dtype;
}

Shape checked_shape(const NpyDict& dict, DType dtype) {
  if (dict.shape.size() > static_cast<std::size_t>(max_dims))
    refuse(fmt::format("it has {} axes, rondo takes at most {}", dict.shape.size(), max_dims));
  try {
    (void)byte_size(dtype, dict.shape);
  } catch (const Error&) {
    refuse(fmt::format("its shape {} has more bytes than can be counted", rondo::to_string(dict.shape)));
  }
  return dict.shape;
}

}  // namespace

std::string_view npy_name(DType dtype) noexcept {
  const auto found = std::ranges::find(names, dtype, &Name::dtype);
  return found == names.end() ? std::string_view() : found->text;
}

NpyHeader parse_npy(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(magic)) {
    if (text.starts_with("PK\x03\x04"))
      refuse("an archive (.npz); expected one array, as numpy.save writes it");
    refuse(text.size() < magic.size() && magic.starts_with(text)
               ? fmt::format("it ends after {} bytes, within its header", text.size())
               : "no .npy file: it does not begin with \\x93NUMPY");
  }
  if (file.size() < before_length)
    refuse(fmt::format("it ends after {} bytes, within its header", file.size()));
  const std::size_t major = number_at(file, 6, 1);
  const std::size_t minor = number_at(file, 7, 1);
  if (major < 1 || major > 3 || minor != 0)
    refuse(fmt::format("its format is version {}.{}, expected 1.0, 2.0 or 3.0", major, minor));
  const std::size_t width = major == 1 ? 2 : 4;
  if (file.size() < before_length + width)
    refuse(fmt::format("it ends after {} bytes, within its header", file.size()));
  const std::size_t length = number_at(file, before_length, width);
  if (length > npy_header_limit)
    refuse(fmt::format("its header has {} bytes, expected at most {}", length, npy_header_limit));
  NpyHeader header;
  header.offset = before_length + width + length;
  if (file.size() < header.offset) {
    refuse(fmt::format("it ends after {} bytes, within its header, which ends at {}", file.size(),
                       header.offset));
  }
  const NpyDict dict = parse_npy_dict(text.substr(before_length + width, length));
  header.dtype = dtype_of_descr(dict);
  if (dict.fortran_order)
    refuse("it is in Fortran order; expected C order (numpy.ascontiguousarray makes it so)");
  header.shape = checked_shape(dict, header.dtype);
  return header;
}

std::string make_npy_header(DType dtype, std::span<const std::int64_t> shape) {
  std::string tuple;
  for (const std::int64_t extent : shape) tuple += fmt::format("{}{}", tuple.empty() ? "" : ", ", extent);
  if (shape.size() == 1) tuple += ',';
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npy_name(dtype), tuple);
  constexpr std::size_t alignment = 64;
  const std::size_t before = before_length + 2;
  const std::size_t unpadded = before + dict.size() + 1;
  dict.append((alignment - unpadded % alignment) % alignment, ' ');
  dict += '\n';
  std::string header(magic);
  header += '\x01';
  header += '\x00';
  header += static_cast<char>(dict.size() & 0xFF);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace rondo::tools::op
