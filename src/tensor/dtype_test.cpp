#include "rondo/dtype.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

namespace rondo {
namespace {

struct Row {
  DType dtype;
  const char* name;
  std::size_t size;
  const char* ops;  // one mark for each ReduceOp, in order: 'y' or '-'
};

//                                                     sum product min max mean and or xor land lor
constexpr Row rows[] = {
    {DType::bool_, "bool", sizeof(bool), "--yy-yyyyy"},
    {DType::int8, "int8", 1, "yyyy-yyyyy"},
    {DType::int16, "int16", 2, "yyyy-yyyyy"},
    {DType::int32, "int32", 4, "yyyy-yyyyy"},
    {DType::int64, "int64", 8, "yyyy-yyyyy"},
    {DType::uint8, "uint8", 1, "yyyy-yyyyy"},
    {DType::uint16, "uint16", 2, "yyyy-yyyyy"},
    {DType::uint32, "uint32", 4, "yyyy-yyyyy"},
    {DType::uint64, "uint64", 8, "yyyy-yyyyy"},
    {DType::float16, "float16", sizeof(float16), "yyyyy---yy"},
    {DType::bfloat16, "bfloat16", sizeof(bfloat16), "yyyyy---yy"},
    {DType::float32, "float32", 4, "yyyyy---yy"},
    {DType::float64, "float64", 8, "yyyyy---yy"},
    {DType::complex64, "complex64", sizeof(std::complex<float>), "yy--y-----"},
    {DType::complex128, "complex128", sizeof(std::complex<double>), "yy--y-----"},
    {DType::float8_e4m3, "float8_e4m3", sizeof(float8_e4m3), "----------"},
    {DType::float8_e5m2, "float8_e5m2", sizeof(float8_e5m2), "----------"},
};

TEST(DType, EveryTypeHasItsNameAndSize) {
  ASSERT_EQ(std::size(rows), static_cast<std::size_t>(dtype_count));
  int number = 0;
  for (const Row& row : rows) {
    EXPECT_EQ(static_cast<int>(row.dtype), number++) << "wire values never change";
    EXPECT_EQ(to_string(row.dtype), row.name);
    EXPECT_EQ(size_of(row.dtype), row.size) << row.name;
    EXPECT_EQ(parse_dtype(row.name), row.dtype);
    std::ostringstream text;
    text << row.dtype;
    EXPECT_EQ(text.str(), row.name);
  }
}

TEST(DType, ParsesExactNamesOnly) {
  for (const char* name : {"", "float", "Float32", "float32 ", " float32", "float8", "bool_", "unknown"}) {
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  }
}

TEST(DType, NumbersOfNoTypeAreHarmless) {
  const auto none = static_cast<DType>(dtype_count);
  EXPECT_EQ(size_of(none), 0U);
  EXPECT_EQ(to_string(none), "unknown");
  for (int op = 0; op < reduce_op_count; ++op) EXPECT_FALSE(supported(static_cast<ReduceOp>(op), none));
  EXPECT_FALSE(supported(static_cast<ReduceOp>(reduce_op_count), DType::int32));
  EXPECT_EQ(to_string(static_cast<ReduceOp>(reduce_op_count)), "unknown");
}

TEST(DType, TypesKnowTheirDType) {
  EXPECT_EQ(dtype_of<bool>, DType::bool_);
  EXPECT_EQ(dtype_of<std::int64_t>, DType::int64);
  EXPECT_EQ(dtype_of<bfloat16>, DType::bfloat16);
  EXPECT_EQ(dtype_of<std::complex<double>>, DType::complex128);
  EXPECT_FALSE(Element<char>);
  EXPECT_FALSE(Element<const float>);
  EXPECT_FALSE(Element<long double>);
}

TEST(ReduceOp, NamesAreUniqueAndParse) {
  std::set<std::string> names;
  for (int number = 0; number < reduce_op_count; ++number) {
    const auto op = static_cast<ReduceOp>(number);
    std::ostringstream text;
    text << op;
    EXPECT_EQ(text.str(), to_string(op));
    EXPECT_EQ(parse_reduce_op(to_string(op)), op);
    names.insert(text.str());
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(reduce_op_count));
  EXPECT_EQ(to_string(ReduceOp::bit_xor), "bit_xor");
  EXPECT_EQ(to_string(ReduceOp::mean), "mean");
  EXPECT_EQ(parse_reduce_op("SUM"), std::nullopt);
  EXPECT_EQ(parse_reduce_op("unknown"), std::nullopt);
}

TEST(ReduceOp, IsSupportedAsTheTableSays) {
  for (const Row& row : rows) {
    for (int op = 0; op < reduce_op_count; ++op) {
      EXPECT_EQ(supported(static_cast<ReduceOp>(op), row.dtype), row.ops[op] == 'y')
          << row.name << ' ' << static_cast<ReduceOp>(op);
    }
  }
}

}  // namespace
}  // namespace rondo
