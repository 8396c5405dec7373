#include "rondo/dtype.hpp"

#include <array>
#include <ostream>

namespace rondo {

namespace {

struct DTypeEntry {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<DTypeEntry, dtype_count> dtype_entries{{
    {"bool", 1},
    {"int8", 1},
    {"int16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"uint16", 2},
    {"uint32", 4},
    {"uint64", 8},
    {"float16", 2},
    {"bfloat16", 2},
    {"float32", 4},
    {"float64", 8},
    {"complex64", 8},
    {"complex128", 16},
    {"float8_e4m3", 1},
    {"float8_e5m2", 1},
}};
static_assert(dtype_entries[static_cast<std::size_t>(DType::float8_e5m2)].name == "float8_e5m2");

constexpr std::array<std::string_view, reduce_op_count> op_names{
    "sum", "product", "min", "max", "mean", "bit_and", "bit_or", "bit_xor", "logical_and", "logical_or",
};
static_assert(op_names[static_cast<std::size_t>(ReduceOp::logical_or)] == "logical_or");

/// The columns of the table in the header.
enum class OpClass { arithmetic, order, mean, bits, logic };

OpClass class_of(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::product:
      return OpClass::arithmetic;
    case ReduceOp::min:
    case ReduceOp::max:
      return OpClass::order;
    case ReduceOp::mean:
      return OpClass::mean;
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
      return OpClass::bits;
    case ReduceOp::logical_and:
    case ReduceOp::logical_or:
      break;
  }
  return OpClass::logic;
}

}  // namespace

// Values may come from a wire, so that all of these also stand a number that names no type.

std::size_t size_of(DType dtype) noexcept {
  const auto index = static_cast<std::size_t>(dtype);
  return index < dtype_entries.size() ? dtype_entries[index].size : 0;
}

std::string_view to_string(DType dtype) noexcept {
  const auto index = static_cast<std::size_t>(dtype);
  return index < dtype_entries.size() ? dtype_entries[index].name : "unknown";
}

std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (std::size_t i = 0; i < dtype_entries.size(); ++i) {
    if (dtype_entries[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

std::string_view to_string(ReduceOp op) noexcept {
  const auto index = static_cast<std::size_t>(op);
  return index < op_names.size() ? op_names[index] : "unknown";
}

std::optional<ReduceOp> parse_reduce_op(std::string_view name) noexcept {
  for (std::size_t i = 0; i < op_names.size(); ++i) {
    if (op_names[i] == name) return static_cast<ReduceOp>(i);
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, ReduceOp op) { return out << to_string(op); }

bool supported(ReduceOp op, DType dtype) noexcept {
  if (static_cast<std::size_t>(op) >= op_names.size()) return false;
  const OpClass kind = class_of(op);
  switch (dtype) {
    case DType::bool_:
      return kind == OpClass::order || kind == OpClass::bits || kind == OpClass::logic;
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
      return kind != OpClass::mean;
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float64:
      return kind != OpClass::bits;
    case DType::complex64:
    case DType::complex128:
      return kind == OpClass::arithmetic || kind == OpClass::mean;
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      return false;
  }
  return false;
}

}  // namespace rondo
