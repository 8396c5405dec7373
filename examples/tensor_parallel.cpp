/// Tensor parallel: two layers, y = relu(x A) B, of which every rank holds a part: some columns of A and the
/// same rows of B.
///
///     rank 0    relu(x A0) B0 ..
///     rank 1    relu(x A1) B1 ..  one all_sum: y on every rank
///     rank 2    relu(x A2) B2 ..
///
/// The first product, split by columns, gives each rank whole elements, so relu needs nothing from the
/// others. The second, split by rows, gives each rank a summand of every element.

#include <algorithm>
#include <cstdio>

#include "ranks.hpp"

constexpr int inputs = 5;
constexpr int hidden = 12;  // shared out among the ranks
constexpr int outputs = 4;

// Whole numbers, so that sums are exact in whatever order: the result can be compared to the last bit.
double x(int column) { return column - 2; }
double a(int row, int column) { return (3 * row + 5 * column) % 7 - 3; }
double b(int row, int column) { return (2 * row + column) % 5 - 2; }

/// What hidden elements `begin` to `end` add to y. A rank needs no other part of A and B than theirs.
std::vector<double> part_of_y(int begin, int end) {
  std::vector<double> y(outputs);
  for (int h = begin; h < end; ++h) {
    double element = 0;
    for (int i = 0; i < inputs; ++i) element += x(i) * a(i, h);
    element = std::max(element, 0.0);
    for (int o = 0; o < outputs; ++o) y[static_cast<std::size_t>(o)] += element * b(h, o);
  }
  return y;
}

bool multiply(const rondo::Group& group) {
  const int begin = hidden * group.rank() / group.size();
  const int end = hidden * (group.rank() + 1) / group.size();
  std::vector<double> y = part_of_y(begin, end);
  const double alone = y[0];
  group.all_sum(y);
  std::printf("rank %d of %d, hidden %d to %d: y[0] is %g of %g\n", group.rank(), group.size(), begin,
              end - 1, alone, y[0]);
  return y == part_of_y(0, hidden);  // the product that nobody split
}

int main() { return run_ranks(3, multiply); }
