/// Groups within a group: six ranks as a grid of two rows and three columns, and a group of chosen ranks.

#include <cstdio>
#include <optional>
#include <stdexcept>

#include "ranks.hpp"

constexpr int columns = 3;

/// Returns whether the sums are those of the grid  0 1 2
///                                                 3 4 5
bool work_on_grid(const rondo::Group& world) {
  if (world.size() != 6) throw std::runtime_error("this grid wants 6 ranks: rondo run -n 6 -- subgroups");
  const int row = world.rank() / columns;
  const int column = world.rank() % columns;

  // Ranks of one color form a group. All ranks call split, each gets the group it belongs to.
  const rondo::Group in_row = world.split(row).value();
  const rondo::Group in_column = world.split(column).value();

  const auto value = rondo::Tensor::scalar(world.rank());
  const int row_sum = in_row.all_sum(value).span<int>()[0];
  const int column_sum = in_column.all_sum(value).span<int>()[0];
  std::printf("rank %d: row %d adds up to %d, column %d to %d\n", world.rank(), row, row_sum, column,
              column_sum);

  // The listed ranks, in this order; the others get none.
  bool corners_right = true;
  if (const std::optional<rondo::Group> corners = world.subgroup({5, 0})) {
    const rondo::Tensor both = corners->all_gather(value);
    corners_right = both.span<int>()[0] == 5 && both.span<int>()[1] == 0;
    std::printf("rank %d: rank %d of the corners\n", world.rank(), corners->rank());
  }
  return row_sum == 3 + 9 * row && column_sum == 3 + 2 * column && corners_right;
}

int main() { return run_ranks(6, work_on_grid); }
