#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <unordered_set>

#include "rondo/config.hpp"

namespace {

using rondo::Backend;

std::string refusal(std::string_view name) {
  try {
    (void)rondo::parse_backend(name);
  } catch (const rondo::Error& error) {
    EXPECT_EQ(error.kind(), rondo::ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(BackendName, every_value_has_its_own_name_and_comes_back) {
  std::set<std::string_view> names;
  std::unordered_set<Backend> hashed;
  for (int value = 0; value < rondo::backend_count; ++value) {
    const auto backend = static_cast<Backend>(value);
    std::ostringstream out;
    out << backend;
    EXPECT_EQ(out.str(), to_string(backend));
    EXPECT_EQ(rondo::parse_backend(to_string(backend)), backend);
    names.insert(to_string(backend));
    hashed.insert(backend);
  }
  const std::set<std::string_view> expected = {"any", "jaccl", "mpi", "nccl", "ring", "shm", "sim", "tcp"};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(hashed.size(), 8U);
}

TEST(BackendName, parsing_is_exact) {
  const std::string expected =
      "unknown distributed backend \"Ring\"; expected any, ring, mpi, jaccl, or nccl (or rondo's own: tcp, "
      "shm, sim)";
  EXPECT_EQ(refusal("Ring"), expected);
  for (const char* name : {"", " ring", "ring ", "rin", "rings", "MPI"}) {
    const std::string beginning = "unknown distributed backend \"" + std::string(name) + "\"; expected any, ";
    EXPECT_EQ(refusal(name).substr(0, beginning.size()), beginning);
  }
}

TEST(BackendName, an_embedded_nul_is_named) {
  const std::string expected = "distributed backend name contains an interior NUL byte";
  EXPECT_EQ(refusal(std::string_view("ring\0", 5)), expected);
  EXPECT_EQ(refusal(std::string_view("\0", 1)), expected);
  EXPECT_EQ(refusal(std::string_view("xy\0z", 4)), expected);
}

}  // namespace
