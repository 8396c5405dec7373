#pragma once
/// The dictionary in the header of a .npy file: a Python literal with three keys.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::tools::op {

struct NpyDict {
  std::string descr;  ///< the type's name
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  ///< no extent is negative
};

/// Reads `{'descr': ..., 'fortran_order': ..., 'shape': ..., }` and blanks behind it. Each key must stand
/// there once, and no other; a structured type is refused. Throws std::runtime_error that says what is wrong
/// and where.
NpyDict parse_npy_dict(std::string_view text);

/// `text` in quotes for a message: not too long, and without bytes that a terminal would act on.
std::string quote(std::string_view text);

}  // namespace rondo::tools::op
