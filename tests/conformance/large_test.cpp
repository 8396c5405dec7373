// More bytes than any pipeline holds at once.

#include <map>

#include "conformance/fixture.hpp"

namespace rondo::test {
namespace {

class Large : public Conformance {};
/// Worlds that differ in how large data travel.
std::vector<World> large_worlds() {
  std::vector<World> all = worlds();
  std::erase_if(all, [](const World& world) {
    return world.name == "run_small_arena" ||
           (world.config.check_payload && world.name != "run_wires_checked");
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Worlds, Large,
                         testing::Combine(testing::ValuesIn(large_worlds()), testing::ValuesIn(sizes())),
                         world_and_size);

struct Data {
  std::vector<Tensor> inputs;
  Tensor sum;
};

/// Made once per size: the same in every world.
const Data& data_of(int size, DType dtype, std::int64_t rows) {
  static std::map<std::tuple<int, DType, std::int64_t>, Data> made;
  const auto [found, fresh] = made.try_emplace({size, dtype, rows});
  if (fresh) {
    found->second.inputs = values_of_all(size, dtype, Shape{rows * size}, Content::sums, 21);
    found->second.sum = reference_reduce(found->second.inputs, ReduceOp::sum);
  }
  return found->second;
}

constexpr std::int64_t elements = 400'009;  // of float32: 1.5 MiB a rank

TEST_P(Large, AllReduce) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const Data& data = data_of(size(), dtype, elements / size());
    run([&](const Group& group) {
      SCOPED_TRACE(label(dtype));
      Tensor both = data.inputs[index_of(group.rank())].clone();
      group.all_sum(both.view());
      EXPECT_TRUE(same(both, data.sum));
    });
  }
}

TEST_P(Large, ReduceAndReduceScatter) {
  const std::int64_t rows = elements / size();
  const Data& data = data_of(size(), DType::float32, rows);
  run([&](const Group& group) {
    const Tensor& mine = data.inputs[index_of(group.rank())];
    const auto count = static_cast<std::size_t>(rows);
    EXPECT_TRUE(
        same(group.sum_scatter(mine), reference_rows(data.sum, index_of(group.rank()) * count, count)));
    const int root = group.size() - 1;
    const auto reduced = group.reduce(mine, ReduceOp::sum, root);
    ASSERT_EQ(reduced.has_value(), group.rank() == root);
    if (reduced) {
      EXPECT_TRUE(same(*reduced, data.sum));
    }
  });
}

TEST_P(Large, Movement) {
  const std::int64_t rows = elements / size() / 2;
  const Data& data = data_of(size(), DType::float32, rows);
  const Tensor all = reference_concat(data.inputs);
  run([&](const Group& group) {
    const Tensor& mine = data.inputs[index_of(group.rank())];
    const int root = group.size() / 2;
    EXPECT_TRUE(same(group.broadcast(mine, root), data.inputs[index_of(root)])) << "broadcast";
    EXPECT_TRUE(same(group.all_gather(mine), all)) << "all_gather";
    const auto gathered = group.gather(mine, root);
    if (gathered) {
      EXPECT_TRUE(same(*gathered, all)) << "gather";
    }
    const auto count = static_cast<std::size_t>(rows);
    Tensor part(DType::float32, {rows});
    group.scatter(mine, part.view(), root);
    EXPECT_TRUE(
        same(part, reference_rows(data.inputs[index_of(root)], index_of(group.rank()) * count, count)))
        << "scatter";
    const std::vector<std::vector<std::size_t>> matrix(ranks(), std::vector<std::size_t>(ranks(), count));
    EXPECT_TRUE(same(group.all_to_all(mine), reference_exchange(data.inputs, group.rank(), matrix)))
        << "all_to_all";
  });
}

class Middle : public Conformance {};
RONDO_EVERYWHERE(Middle);

// Between what goes in one shot and what is worth a ring.
TEST_P(Middle, ReductionsOfSomeTensOfKilobytes) {
  for (const DType dtype : {DType::float32, DType::float16}) {
    for (const ReduceOp op : {ReduceOp::mean, ReduceOp::product}) {
      const Shape shape = {15'013 / size() * size()};
      const std::size_t rows = static_cast<std::size_t>(shape[0]) / ranks();
      const auto inputs = values_of_all(size(), dtype, shape, content_for(op, dtype), 31);
      const Tensor due = reference_reduce(inputs, op);
      run([&](const Group& group) {
        SCOPED_TRACE(label(dtype, op));
        const Tensor& mine = inputs[index_of(group.rank())];
        EXPECT_TRUE(same(group.all_reduce(mine, op), due)) << "all_reduce";
        const auto reduced = group.reduce(mine, op, group.size() - 1);
        ASSERT_EQ(reduced.has_value(), group.rank() == group.size() - 1);
        if (reduced) {
          EXPECT_TRUE(same(*reduced, due)) << "reduce";
        }
        EXPECT_TRUE(
            same(group.reduce_scatter(mine, op), reference_rows(due, index_of(group.rank()) * rows, rows)))
            << "reduce_scatter";
      });
    }
  }
}

}  // namespace
}  // namespace rondo::test
