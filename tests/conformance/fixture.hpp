#pragma once
/// What conformance suites have in common: every case runs in every world and at every size.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "support/reference.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace rondo::test {

class Conformance : public testing::TestWithParam<std::tuple<World, int>> {
 protected:
  const World& world() const { return std::get<0>(GetParam()); }
  int size() const { return std::get<1>(GetParam()); }
  std::size_t ranks() const { return static_cast<std::size_t>(size()); }
  void run(const RankMain& rank_main) const { world().run(size(), rank_main); }
};

inline std::string world_and_size(const testing::TestParamInfo<std::tuple<World, int>>& info) {
  return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param));
}

#define RONDO_EVERYWHERE(suite)                                                                       \
  INSTANTIATE_TEST_SUITE_P(Worlds, suite,                                                             \
                           testing::Combine(testing::ValuesIn(worlds()), testing::ValuesIn(sizes())), \
                           world_and_size)

/// Pieces of equal size in memory that this process shares with those it starts.
class SharedBytes {
 public:
  SharedBytes(std::size_t pieces, std::size_t piece) : piece_(piece), bytes_(pieces * piece) {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
  }
  ~SharedBytes() { munmap(memory_, bytes_); }
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;
  std::span<std::byte> operator[](std::size_t at) const { return {memory_ + at * piece_, piece_}; }

 private:
  std::size_t piece_;
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
};

/// Counts around every edge of `size` ranks.
inline std::vector<std::int64_t> edge_counts(int size) {
  std::vector<std::int64_t> counts = {0, 1, size - 1, size, size + 1, 13, 97, 257};
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

inline std::size_t index_of(int rank) { return static_cast<std::size_t>(rank); }

/// Rows per rank, zeros among them; the same on every rank.
inline std::vector<std::size_t> uneven_counts(int size, std::uint64_t salt) {
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < size; ++rank) {
    const std::uint64_t random = mix(salt, static_cast<std::uint64_t>(rank), 77);
    counts.push_back(random % 3 == 0 ? 0U : static_cast<std::size_t>(random >> 8U) % 7U);
  }
  return counts;
}

/// rows[s][d] rows go from s to d; a whole line and a whole column are zero for some salts.
inline std::vector<std::vector<std::size_t>> uneven_matrix(int size, std::uint64_t salt) {
  std::vector<std::vector<std::size_t>> rows;
  for (int rank = 0; rank < size; ++rank)
    rows.push_back(uneven_counts(size, salt * 64 + static_cast<std::uint64_t>(rank)));
  const auto n = static_cast<std::uint64_t>(size);
  if (salt % 2 == 1) rows[static_cast<std::size_t>(salt % n)].assign(static_cast<std::size_t>(size), 0);
  if (salt % 3 == 1) {
    for (auto& line : rows) line[static_cast<std::size_t>((salt + 1) % n)] = 0;
  }
  return rows;
}

inline std::vector<std::size_t> column_of(const std::vector<std::vector<std::size_t>>& rows, int rank) {
  std::vector<std::size_t> column;
  for (const auto& line : rows) column.push_back(line[index_of(rank)]);
  return column;
}

inline std::int64_t total(std::span<const std::size_t> counts) {
  return static_cast<std::int64_t>(sum_before(counts, static_cast<int>(counts.size())));
}

/// Memory of this type and shape in which every byte is wrong, to be overwritten.
inline Tensor spoiled(DType dtype, std::span<const std::int64_t> shape) {
  Tensor made(dtype, shape);
  std::fill_n(made.view().data(), made.bytes(), std::byte{0xEE});
  return made;
}

inline View nothing_of(DType dtype) { return View(dtype, nullptr, std::size_t{0}); }

}  // namespace rondo::test
