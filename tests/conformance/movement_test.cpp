// Collectives that move elements and leave them as they are: every type, bit for bit.

#include <atomic>

#include "conformance/fixture.hpp"

namespace rondo::test {
namespace {

class Movement : public Conformance {};
RONDO_EVERYWHERE(Movement);

const std::vector<DType>& few_types() {
  static const std::vector<DType> few = {DType::uint8, DType::float32, DType::complex128};
  return few;
}

std::vector<Tensor> data(int size, DType dtype, const Shape& shape) {
  return values_of_all(size, dtype, shape, Content::bits, 3);
}

void all_gather_in_every_form(const Group& group, const std::vector<Tensor>& inputs) {
  const Tensor& mine = inputs[index_of(group.rank())];
  const Tensor expected = reference_concat(inputs);
  EXPECT_TRUE(same(group.all_gather(mine), expected)) << "returned";
  Tensor out = spoiled(mine.dtype(), expected.shape());
  group.all_gather(mine, out.view());
  EXPECT_TRUE(same(out, expected)) << "in and out";

  Tensor whole = spoiled(mine.dtype(), expected.shape());
  std::byte* const part = whole.view().data() + index_of(group.rank()) * mine.bytes();
  std::copy_n(mine.view().data(), mine.bytes(), part);
  group.all_gather(ConstView(mine.dtype(), part, mine.shape()), whole.view());
  EXPECT_TRUE(same(whole, expected)) << "in place";

  for (const Lie lie : lies()) {
    Strided in(mine, lie);
    Strided result(mine.dtype(), expected.shape(), lie);
    group.all_gather(in.view(), result.view());
    EXPECT_TRUE(same_elements(result.view(), expected)) << "strided " << static_cast<int>(lie);
    EXPECT_TRUE(result.gaps_untouched());
  }
}

TEST_P(Movement, AllGather) {
  for (const DType dtype : dtypes()) {
    const auto inputs = data(size(), dtype, {3, 2});
    run([&](const Group& group) {
      SCOPED_TRACE(label(dtype));
      all_gather_in_every_form(group, inputs);
    });
  }
  for (const DType dtype : few_types()) {
    run([&](const Group& group) {
      for (const std::int64_t count : edge_counts(group.size())) {
        SCOPED_TRACE(label(dtype, count));
        all_gather_in_every_form(group, data(group.size(), dtype, {count}));
      }
    });
  }
}

TEST_P(Movement, AllGatherOfScalar) {
  const auto inputs = data(size(), DType::int64, {});
  run([&](const Group& group) {
    const Tensor result = group.all_gather(inputs[index_of(group.rank())]);
    EXPECT_TRUE(same(result, group.size() == 1 ? inputs[0] : reference_concat(inputs)));
  });
}

std::vector<Tensor> uneven_data(DType dtype, std::span<const std::size_t> counts) {
  std::vector<Tensor> inputs;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const Shape shape = {static_cast<std::int64_t>(counts[rank]), 2};
    inputs.push_back(values(dtype, shape, static_cast<int>(rank), Content::bits, 4));
  }
  return inputs;
}

std::vector<std::size_t> counts_for(int size, std::uint64_t salt) {
  if (salt == 0) return std::vector<std::size_t>(static_cast<std::size_t>(size), 0);
  return uneven_counts(size, salt);
}

TEST_P(Movement, AllGatherV) {
  for (const DType dtype : few_types()) {
    run([&](const Group& group) {
      for (std::uint64_t salt = 0; salt < 5; ++salt) {
        SCOPED_TRACE(label(dtype, "counts", salt));
        const auto counts = counts_for(group.size(), salt);
        const auto inputs = uneven_data(dtype, counts);
        const Tensor& mine = inputs[index_of(group.rank())];
        const Tensor expected = reference_concat(inputs);
        EXPECT_TRUE(same(group.all_gather_v(mine, counts), expected)) << "returned";
        Tensor out = spoiled(dtype, expected.shape());
        group.all_gather_v(mine, out.view(), counts);
        EXPECT_TRUE(same(out, expected)) << "in and out";
        Tensor whole = spoiled(dtype, expected.shape());
        std::byte* const part = whole.view().data() + sum_before(counts, group.rank()) * 2 * size_of(dtype);
        std::copy_n(mine.view().data(), mine.bytes(), part);
        group.all_gather_v(ConstView(dtype, part, mine.shape()), whole.view(), counts);
        EXPECT_TRUE(same(whole, expected)) << "in place";
        Strided in(mine, Lie::transposed);
        Strided result(dtype, expected.shape(), Lie::every_second);
        group.all_gather_v(in.view(), result.view(), counts);
        EXPECT_TRUE(same_elements(result.view(), expected)) << "strided";
        EXPECT_TRUE(result.gaps_untouched());
      }
    });
  }
}

void broadcast_in_every_form(const Group& group, const std::vector<Tensor>& inputs, int root) {
  SCOPED_TRACE(label("root", root));
  const Tensor& mine = inputs[index_of(group.rank())];
  const Tensor& expected = inputs[index_of(root)];
  EXPECT_TRUE(same(group.broadcast(mine, root), expected)) << "returned";
  Tensor both = mine.clone();
  group.broadcast(both.view(), root);
  EXPECT_TRUE(same(both, expected)) << "in place";
  Strided strided(mine, Lie::every_second);
  group.broadcast(strided.view(), root);
  EXPECT_TRUE(same_elements(strided.view(), expected)) << "strided";
  EXPECT_TRUE(strided.gaps_untouched());
}

TEST_P(Movement, Broadcast) {
  run([&](const Group& group) {
    for (const DType dtype : dtypes()) {
      SCOPED_TRACE(label(dtype));
      const auto inputs = data(group.size(), dtype, {5});
      for (int root = 0; root < group.size(); ++root) broadcast_in_every_form(group, inputs, root);
    }
    for (const std::int64_t count : edge_counts(group.size())) {
      SCOPED_TRACE(label(count));
      const auto inputs = data(group.size(), DType::int16, {count, 2});
      broadcast_in_every_form(group, inputs, group.size() / 2);
    }
    const auto scalars = data(group.size(), DType::float64, {});
    broadcast_in_every_form(group, scalars, group.size() - 1);
  });
}

TEST_P(Movement, BroadcastBytes) {
  run([&](const Group& group) {
    for (int root = 0; root < group.size(); ++root) {
      for (const std::size_t length :
           {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{70000}}) {
        std::string text;
        for (std::size_t i = 0; i < length; ++i)
          text += static_cast<char>(mix(9, static_cast<std::uint64_t>(root), i) & 0xFFU);
        const std::string given = group.rank() == root ? text : std::string("other");
        EXPECT_EQ(group.broadcast_bytes(given, root) == text, true) << "root " << root << " of " << length;
      }
    }
  });
}

void gather_in_every_form(const Group& group, const std::vector<Tensor>& inputs,
                          const std::vector<std::size_t>* counts, int root) {
  SCOPED_TRACE(label("root", root));
  const bool is_root = group.rank() == root;
  const Tensor& mine = inputs[index_of(group.rank())];
  const DType dtype = mine.dtype();
  const Tensor expected = reference_concat(inputs);
  const auto gather = [&](ConstView in, View out) {
    if (counts != nullptr) {
      group.gather_v(in, out, *counts, root);
    } else {
      group.gather(in, out, root);
    }
  };
  const auto returned = counts != nullptr ? group.gather_v(mine, *counts, root) : group.gather(mine, root);
  ASSERT_EQ(returned.has_value(), is_root);
  if (returned) {
    EXPECT_TRUE(same(*returned, expected)) << "returned";
  }

  Tensor out = spoiled(dtype, expected.shape());
  gather(mine, is_root || group.rank() % 2 == 0 ? out.view() : nothing_of(dtype));
  EXPECT_TRUE(same(out, is_root ? expected : spoiled(dtype, expected.shape()))) << "in and out";

  std::size_t before = 0;
  for (int rank = 0; rank < group.rank(); ++rank) before += inputs[index_of(rank)].bytes();
  Tensor whole = spoiled(dtype, expected.shape());
  std::byte* const part = whole.view().data() + before;
  std::copy_n(mine.view().data(), mine.bytes(), part);
  gather(ConstView(dtype, part, mine.shape()), is_root ? whole.view() : nothing_of(dtype));
  if (is_root) {
    EXPECT_TRUE(same(whole, expected)) << "in place";
  }

  Strided in(mine, Lie::transposed);
  Strided result(dtype, expected.shape(), Lie::reversed);
  gather(in.view(), is_root ? result.view() : nothing_of(dtype));
  if (is_root) {
    EXPECT_TRUE(same_elements(result.view(), expected)) << "strided";
    EXPECT_TRUE(result.gaps_untouched());
  }
}

TEST_P(Movement, Gather) {
  run([&](const Group& group) {
    for (const DType dtype : dtypes()) {
      SCOPED_TRACE(label(dtype));
      gather_in_every_form(group, data(group.size(), dtype, {2, 2}), nullptr,
                           static_cast<int>(dtype) % group.size());
    }
    for (const std::int64_t count : edge_counts(group.size())) {
      SCOPED_TRACE(label(count));
      const auto inputs = data(group.size(), DType::float32, {count});
      for (int root = 0; root < group.size(); ++root) gather_in_every_form(group, inputs, nullptr, root);
    }
    for (std::uint64_t salt = 0; salt < 4; ++salt) {
      SCOPED_TRACE(label("counts", salt));
      const auto counts = counts_for(group.size(), salt);
      const auto inputs = uneven_data(DType::int32, counts);
      for (int root = 0; root < group.size(); ++root) gather_in_every_form(group, inputs, &counts, root);
    }
  });
}

void scatter_in_every_form(const Group& group, const Tensor& whole, const std::vector<std::size_t>& counts,
                           bool v_form, int root) {
  SCOPED_TRACE(label("root", root));
  const bool is_root = group.rank() == root;
  const DType dtype = whole.dtype();
  const Tensor expected =
      reference_rows(whole, sum_before(counts, group.rank()), counts[index_of(group.rank())]);
  const auto scatter = [&](ConstView in, View out) {
    if (v_form) {
      group.scatter_v(in, out, counts, root);
    } else {
      group.scatter(in, out, root);
    }
  };
  const Tensor junk = spoiled(dtype, whole.shape());
  Tensor out = spoiled(dtype, expected.shape());
  const ConstView elsewhere = group.rank() % 2 == 0 ? junk.view() : ConstView(nothing_of(dtype));
  scatter(is_root ? whole.view() : elsewhere, out.view());
  EXPECT_TRUE(same(out, expected)) << "in and out";

  Strided in(whole, Lie::every_second);
  Strided result(dtype, expected.shape(), Lie::reversed);
  scatter(is_root ? ConstView(in.view()) : elsewhere, result.view());
  EXPECT_TRUE(same_elements(result.view(), expected)) << "strided";
  EXPECT_TRUE(result.gaps_untouched());
}

TEST_P(Movement, Scatter) {
  run([&](const Group& group) {
    const auto n = static_cast<std::int64_t>(group.size());
    for (const DType dtype : dtypes()) {
      SCOPED_TRACE(label(dtype));
      const Tensor whole = values(dtype, Shape{2 * n, 2}, 0, Content::bits, 6);
      scatter_in_every_form(group, whole, std::vector<std::size_t>(ranks(), 2), false,
                            static_cast<int>(dtype) % group.size());
    }
    for (const std::int64_t count : edge_counts(group.size())) {
      SCOPED_TRACE(label(count));
      const Tensor whole = values(DType::float32, Shape{count * n}, 0, Content::bits, 7);
      const std::vector<std::size_t> counts(ranks(), static_cast<std::size_t>(count));
      for (int root = 0; root < group.size(); ++root)
        scatter_in_every_form(group, whole, counts, false, root);
    }
    for (std::uint64_t salt = 0; salt < 4; ++salt) {
      SCOPED_TRACE(label("counts", salt));
      const auto counts = counts_for(group.size(), salt);
      const Tensor whole = values(DType::int64, Shape{total(counts), 2}, 0, Content::bits, 8);
      for (int root = 0; root < group.size(); ++root) scatter_in_every_form(group, whole, counts, true, root);
    }
  });
}

void all_to_all_in_every_form(const Group& group, const std::vector<Tensor>& inputs, std::size_t rows) {
  const Tensor& mine = inputs[index_of(group.rank())];
  const auto n = index_of(group.size());
  const std::vector<std::vector<std::size_t>> matrix(n, std::vector<std::size_t>(n, rows));
  const Tensor expected = reference_exchange(inputs, group.rank(), matrix);
  EXPECT_TRUE(same(group.all_to_all(mine), expected)) << "returned";
  Tensor out = spoiled(mine.dtype(), mine.shape());
  group.all_to_all(mine, out.view());
  EXPECT_TRUE(same(out, expected)) << "in and out";
  if (group.size() > 1 && mine.count() > 0) {  // parts change places: there is no in-place form
    expect_error(ErrorKind::invalid_argument, {"all_to_all", "overlap"},
                 [&] { group.all_to_all(out, out.view()); });
    EXPECT_TRUE(same(out, expected)) << "a refused call wrote";
  }
  Strided in(mine, Lie::transposed);
  Strided result(mine.dtype(), mine.shape(), Lie::reversed);
  group.all_to_all(in.view(), result.view());
  EXPECT_TRUE(same_elements(result.view(), expected)) << "strided";
  EXPECT_TRUE(result.gaps_untouched());
}

TEST_P(Movement, AllToAll) {
  run([&](const Group& group) {
    const auto n = static_cast<std::int64_t>(group.size());
    for (const DType dtype : dtypes()) {
      SCOPED_TRACE(label(dtype));
      all_to_all_in_every_form(group, data(group.size(), dtype, {2 * n, 2}), 2);
    }
    for (const std::int64_t count : edge_counts(group.size())) {
      SCOPED_TRACE(label(count));
      all_to_all_in_every_form(group, data(group.size(), DType::int32, {count * n}),
                               static_cast<std::size_t>(count));
    }
  });
}

void all_to_all_v_in_every_form(const Group& group, DType dtype,
                                const std::vector<std::vector<std::size_t>>& rows) {
  const auto send = rows[index_of(group.rank())];
  const auto recv = column_of(rows, group.rank());
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < group.size(); ++rank)
    inputs.push_back(values(dtype, Shape{total(rows[index_of(rank)]), 3}, rank, Content::bits, 10));
  const Tensor& mine = inputs[index_of(group.rank())];
  const Tensor expected = reference_exchange(inputs, group.rank(), rows);
  EXPECT_TRUE(same(group.all_to_all_v(mine, send, recv), expected)) << "returned";
  Tensor out = spoiled(dtype, expected.shape());
  group.all_to_all_v(mine, out.view(), send, recv);
  EXPECT_TRUE(same(out, expected)) << "in and out";
  Strided in(mine, Lie::reversed);
  Strided result(dtype, expected.shape(), Lie::transposed);
  group.all_to_all_v(in.view(), result.view(), send, recv);
  EXPECT_TRUE(same_elements(result.view(), expected)) << "strided";
  EXPECT_TRUE(result.gaps_untouched());

  const ExchangePlan plan = group.plan_all_to_all_v(send);
  EXPECT_TRUE(std::ranges::equal(plan.send_counts(), send));
  EXPECT_TRUE(std::ranges::equal(plan.recv_counts(), recv));
  const Tensor planned = group.all_to_all_v(mine, plan);
  EXPECT_TRUE(same(planned, expected)) << "planned";
  EXPECT_TRUE(same(group.all_to_all_v(planned, plan.reverse()), mine)) << "there and back";
}

TEST_P(Movement, AllToAllV) {
  run([&](const Group& group) {
    for (const DType dtype : few_types()) {
      for (std::uint64_t salt = 0; salt < 6; ++salt) {
        SCOPED_TRACE(label(dtype, "matrix", salt));
        all_to_all_v_in_every_form(group, dtype, uneven_matrix(group.size(), salt));
      }
    }
    const std::vector<std::vector<std::size_t>> none(ranks(), std::vector<std::size_t>(ranks(), 0));
    all_to_all_v_in_every_form(group, DType::float16, none);
    for (const DType dtype : dtypes()) {
      SCOPED_TRACE(label(dtype));
      all_to_all_v_in_every_form(group, dtype, uneven_matrix(group.size(), 2));
    }
  });
}

// No rank leaves before the last has come.
TEST_P(Movement, Barrier) {
  const SharedBytes memory(1, sizeof(std::atomic<int>));
  auto& entered = *new (memory[0].data()) std::atomic<int>(0);
  run([&](const Group& group) {
    for (int round = 1; round <= 20; ++round) {
      ++entered;
      group.barrier();
      EXPECT_GE(entered.load(), round * group.size());
      group.barrier();
    }
  });
}

}  // namespace
}  // namespace rondo::test
