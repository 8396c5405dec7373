// The header of .npy files, read and written, without a file system and without NumPy.

#include "op/npy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "op/npy_dict.hpp"

namespace rondo::tools::op {
namespace {

NpyHeader parse(const std::string& file) { return parse_npy(std::as_bytes(std::span(file))); }

/// What parse_npy says against it; empty: nothing.
std::string refusal(const std::string& file) {
  try {
    (void)parse(file);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

/// A file of this version: magic, version, length and text, then elements.
std::string file(const std::string& text, int version = 1, const std::string& elements = "") {
  std::string made = "\x93NUMPY";
  made += static_cast<char>(version);
  made += '\0';
  for (int byte = 0; byte < (version == 1 ? 2 : 4); ++byte)
    made += static_cast<char>(text.size() >> (8 * byte) & 0xFF);
  return made + text + elements;
}

#define EXPECT_REFUSED(made, words)                                                           \
  do {                                                                                        \
    const std::string said = refusal(made);                                                   \
    EXPECT_NE(said.find(words), std::string::npos) << "said: " << said << "\nnot: " << words; \
  } while (false)

TEST(Npy, EveryVersionIsRead) {
  for (const int version : {1, 2, 3}) {
    const std::string text = dict("<f4", "(2, 3)");
    const NpyHeader header = parse(file(text, version, "elements"));
    EXPECT_EQ(header.dtype, DType::float32);
    EXPECT_EQ(header.shape, (Shape{2, 3}));
    EXPECT_EQ(header.offset, (version == 1 ? 10U : 12U) + text.size()) << version;
  }
}

TEST(Npy, OtherVersionsAreNot) {
  for (const int version : {0, 4, 127}) {
    EXPECT_REFUSED(file(dict("<f4", "(2, 3)"), version),
                   "version " + std::to_string(version) + ".0, expected 1.0, 2.0 or 3.0");
  }
  std::string minor = file(dict("<f4", "(2, 3)"));
  minor[7] = 7;
  EXPECT_REFUSED(minor, "version 1.7");
}

// The length is that of the version: two bytes or four, the lowest first.
TEST(Npy, LengthsOfMoreThanAByte) {
  for (const int version : {1, 2, 3}) {
    const std::string text = dict("|u1", "(5,)") + std::string(700, ' ') + "\n";
    EXPECT_EQ(parse(file(text, version)).offset, (version == 1 ? 10U : 12U) + text.size());
  }
  std::string long_one = dict("|u1", "(5,)");
  long_one.append(npy_header_limit - long_one.size(), ' ');
  EXPECT_EQ(parse(file(long_one, 2)).offset, 12 + npy_header_limit);
  EXPECT_REFUSED(file(long_one + ' ', 2), "65536 bytes, expected at most 65535");
  std::string promised = file(dict("|u1", "(5,)"), 3);
  promised.replace(8, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_REFUSED(promised, "4294967295 bytes, expected at most 65535");
}

TEST(Npy, EveryTypeByItsName) {
  const std::vector<std::pair<std::string, DType>> types = {
      {"|b1", DType::bool_},     {"|i1", DType::int8},       {"<i2", DType::int16},   {"<i4", DType::int32},
      {"<i8", DType::int64},     {"|u1", DType::uint8},      {"<u2", DType::uint16},  {"<u4", DType::uint32},
      {"<u8", DType::uint64},    {"<f2", DType::float16},    {"<f4", DType::float32}, {"<f8", DType::float64},
      {"<c8", DType::complex64}, {"<c16", DType::complex128}};
  for (const auto& [name, type] : types) {
    EXPECT_EQ(parse(file(dict(name, "(3,)"))).dtype, type) << name;
    EXPECT_EQ(npy_name(type), name);
    EXPECT_EQ(parse(file(dict("=" + name.substr(1), "(3,)"))).dtype, type) << name;
  }
  EXPECT_EQ(npy_name(DType::bfloat16), "");
}

TEST(Npy, ByteOrders) {
  for (const char* name : {">i2", ">f8", ">c16"})
    EXPECT_REFUSED(file(dict(name, "(3,)")),
                   std::string("\"") + name + "\": big-endian; expected little-endian");
  EXPECT_REFUSED(file(dict("|f8", "(3,)")), "\"|f8\": no byte order given; expected '<'");
  // One byte has no order, whatever is said of it.
  EXPECT_EQ(parse(file(dict("<i1", "(3,)"))).dtype, DType::int8);
  EXPECT_REFUSED(file(dict("f8", "(3,)")), "\"f8\": not the name of a type");
}

TEST(Npy, TypesThatAreNotTaken) {
  EXPECT_REFUSED(file(dict("|O", "(3,)")), "Python objects");
  EXPECT_REFUSED(file(dict("<U5", "(3,)")), "strings");
  EXPECT_REFUSED(file(dict("|S5", "(3,)")), "strings");
  EXPECT_REFUSED(file(dict("|V2", "(3,)")), "bfloat16");
  EXPECT_REFUSED(file(dict("<M8[ns]", "(3,)")), "int64 view");
  EXPECT_REFUSED(file(dict("<f16", "(3,)")), "\"<f16\": expected bool");
  EXPECT_REFUSED(file(dict("<i3", "(3,)")), "\"<i3\": expected bool");
  EXPECT_REFUSED(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}"), "structured");
}

TEST(Npy, FortranOrderIsRefused) {
  EXPECT_REFUSED(file(dict("<f4", "(2, 3)", "True")), "Fortran order; expected C order");
  // Also where it would make no difference: what a file says is what is judged.
  EXPECT_REFUSED(file(dict("<f4", "(3,)", "True")), "Fortran order");
}

TEST(Npy, ScalarsAndExtentsOfZero) {
  EXPECT_EQ(parse(file(dict("<f4", "()"))).shape, Shape{});
  EXPECT_EQ(parse(file(dict("<f4", "( )"))).shape, Shape{});
  EXPECT_EQ(parse(file(dict("<f4", "(0,)"))).shape, Shape{0});
  EXPECT_EQ(parse(file(dict("<f4", "(3, 0, 2)"))).shape, (Shape{3, 0, 2}));
}

TEST(Npy, AbsurdShapes) {
  EXPECT_REFUSED(file(dict("<f4", "(9223372036854775808,)")), "expected an extent, 0 or more, found");
  EXPECT_REFUSED(file(dict("<f4", "(99999999999999999999999,)")), "expected an extent");
  EXPECT_REFUSED(file(dict("<f4", "(-1,)")), "expected an extent");
  EXPECT_REFUSED(file(dict("<f4", "(4611686018427387904,)")),
                 "[4611686018427387904] has more bytes than can be counted");
  EXPECT_REFUSED(file(dict("|u1", "(4294967296, 4294967296)")), "more bytes than can be counted");
  EXPECT_REFUSED(file(dict("|u1", "(65536, 65536, 65536, 65536)")), "more bytes than can be counted");
  // The most that can be counted is a shape; whether its bytes are there is another question.
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(parse(file(dict("|u1", "(9223372036854775807,)"))).shape, Shape{most});
  EXPECT_EQ(parse(file(dict("<f4", "(1, 2, 3, 4, 5, 6, 7, 8)"))).shape.size(), 8U);
  EXPECT_REFUSED(file(dict("<f4", "(1, 2, 3, 4, 5, 6, 7, 8, 9)")), "9 axes, rondo takes at most 8");
}

// However much of it there is: never a read beyond the end, and always the same complaint.
TEST(Npy, CutAnywhere) {
  for (const int version : {1, 2, 3}) {
    const std::string whole = file(dict("<i2", "(3,)"), version);
    for (std::size_t end = 0; end < whole.size(); ++end) {
      const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(end));
      try {
        (void)parse_npy(std::as_bytes(std::span(cut)));
        ADD_FAILURE() << "version " << version << " cut to " << end << " bytes is taken";
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("ends after " + std::to_string(end) + " bytes"),
                  std::string::npos)
            << error.what();
      }
    }
  }
}

TEST(Npy, WhatIsNoNpyFile) {
  EXPECT_REFUSED("\x93NUMPX", "does not begin with \\x93NUMPY");
  EXPECT_REFUSED("hello", "does not begin with");
  EXPECT_REFUSED(std::string("PK\x03\x04") + "rest", "archive (.npz)");
}

TEST(Npy, BehindTheDictionaryOnlyBlanks) {
  EXPECT_EQ(parse(file(dict("<i2", "(3,)") + " \t\r\n  ")).shape, Shape{3});
  EXPECT_REFUSED(file(dict("<i2", "(3,)") + "   ; x"),
                 "expected nothing but blanks behind the dictionary, found \"; x\"");
  EXPECT_REFUSED(file(dict("<i2", "(3,)") + std::string(1, '\0')), "found \"\\x00\"");
  // Elements are no business of the header's.
  EXPECT_EQ(parse(file(dict("<i2", "(3,)"), 1, "more and more")).shape, Shape{3});
}

TEST(Npy, KeysOnceEach) {
  EXPECT_REFUSED(file("{'descr': '<i2', 'fortran_order': False}"), "no 'shape'");
  EXPECT_REFUSED(file("{'descr': '<i2', 'shape': (3,)}"), "no 'fortran_order'");
  EXPECT_REFUSED(file("{'fortran_order': False, 'shape': (3,)}"), "no 'descr'");
  EXPECT_REFUSED(file("{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (3,)}"),
                 "each once");
  EXPECT_REFUSED(file("{'descr': '<i2', 'fortran_order': False, 'shape': (3,), 'x': 1}"), "each once");
  EXPECT_EQ(parse(file("{\"shape\":(3,),\"descr\":\"<i2\",\"fortran_order\":False}")).shape, Shape{3});
}

TEST(Npy, WhatIsWrittenIsReadBack) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 3}, Shape{1, 2, 3, 4, 5, 6, 7, 8},
                             Shape{std::numeric_limits<std::int64_t>::max(), 0}}) {
    const std::string written = make_npy_header(DType::complex128, shape);
    EXPECT_EQ(written.size() % 64, 0U);
    EXPECT_EQ(written.back(), '\n');
    const NpyHeader header = parse(written);
    EXPECT_EQ(header.dtype, DType::complex128);
    EXPECT_EQ(header.shape, shape);
    EXPECT_EQ(header.offset, written.size());
  }
}

TEST(Npy, QuotesAreShortAndPrintable) {
  EXPECT_EQ(quote("a\x1B[31m\xFFz"), "\"a\\x1b[31m\\xffz\"");
  EXPECT_EQ(quote(std::string(61, 'y')), "\"" + std::string(60, 'y') + "...\"");
}

}  // namespace
}  // namespace rondo::tools::op
