// all_reduce, reduce, reduce_scatter and reduce_scatter_v in every form.

#include "conformance/fixture.hpp"

namespace rondo::test {
namespace {

class Reductions : public Conformance {};
RONDO_EVERYWHERE(Reductions);

struct Case {
  DType dtype;
  ReduceOp op;
  std::vector<Tensor> inputs;
  Tensor expected;

  std::string text() const { return label(dtype, op, to_string(inputs[0].shape())); }
};

Case make_case(int size, DType dtype, ReduceOp op, Shape shape, Content content) {
  Case made{dtype, op, values_of_all(size, dtype, shape, content, static_cast<std::uint64_t>(op) + 1), {}};
  made.expected = reference_reduce(made.inputs, op);
  return made;
}

/// Every supported pair of type and operation, and the special values where there are any.
std::vector<Case> every_pair(int size, const Shape& shape) {
  std::vector<Case> cases;
  for (const DType dtype : dtypes()) {
    for (const ReduceOp op : reduce_ops()) {
      if (!supported(op, dtype)) continue;
      cases.push_back(make_case(size, dtype, op, shape, content_for(op, dtype)));
      const bool numeric = op <= ReduceOp::mean;
      if (numeric && has_special(dtype)) cases.push_back(make_case(size, dtype, op, shape, Content::special));
    }
  }
  return cases;
}

TEST_P(Reductions, AllReduceOfEveryTypeAndOperation) {
  const auto cases = every_pair(size(), {2 * size() + 3});
  run([&](const Group& group) {
    for (const Case& one : cases) {
      SCOPED_TRACE(one.text());
      EXPECT_TRUE(same(group.all_reduce(one.inputs[index_of(group.rank())], one.op), one.expected));
    }
  });
}

TEST_P(Reductions, ReduceOfEveryTypeAndOperation) {
  const auto cases = every_pair(size(), {size() + 2});
  run([&](const Group& group) {
    int root = 0;
    for (const Case& one : cases) {
      SCOPED_TRACE(one.text());
      root = (root + 1) % group.size();
      const auto result = group.reduce(one.inputs[index_of(group.rank())], one.op, root);
      ASSERT_EQ(result.has_value(), group.rank() == root);
      if (result) {
        EXPECT_TRUE(same(*result, one.expected));
      }
    }
  });
}

TEST_P(Reductions, ReduceScatterOfEveryTypeAndOperation) {
  const auto cases = every_pair(size(), {size() * 2, 3});
  run([&](const Group& group) {
    for (const Case& one : cases) {
      SCOPED_TRACE(one.text());
      const Tensor part = group.reduce_scatter(one.inputs[index_of(group.rank())], one.op);
      EXPECT_TRUE(same(part, reference_rows(one.expected, index_of(group.rank()) * 2, 2)));
    }
  });
}

void all_reduce_in_every_form(const Group& group, const Case& one) {
  const Tensor& mine = one.inputs[index_of(group.rank())];
  const Tensor before = mine.clone();
  EXPECT_TRUE(same(group.all_reduce(mine, one.op), one.expected)) << "returned";
  EXPECT_TRUE(same(mine, before)) << "the input was written to";

  Tensor out = spoiled(one.dtype, mine.shape());
  group.all_reduce(mine, out.view(), one.op);
  EXPECT_TRUE(same(out, one.expected)) << "in and out";
  EXPECT_TRUE(same(mine, before)) << "the input was written to";

  Tensor both = mine.clone();
  group.all_reduce(both.view(), one.op);
  EXPECT_TRUE(same(both, one.expected)) << "in place";

  for (const Lie lie : lies()) {
    SCOPED_TRACE(label("lie", static_cast<int>(lie)));
    Strided in(mine, lie);
    Strided result(one.dtype, mine.shape(), lie);
    group.all_reduce(in.view(), result.view(), one.op);
    EXPECT_TRUE(same_elements(result.view(), one.expected)) << "strided";
    EXPECT_TRUE(result.gaps_untouched());
    group.all_reduce(in.view(), one.op);
    EXPECT_TRUE(same_elements(in.view(), one.expected)) << "strided, in place";
    EXPECT_TRUE(in.gaps_untouched());
  }
}

std::vector<Case> every_count(int size) {
  std::vector<Case> cases;
  for (const std::int64_t count : edge_counts(size)) {
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::uint8, DType::complex128}) {
      cases.push_back(make_case(size, dtype, ReduceOp::sum, {count}, content_for(ReduceOp::sum, dtype)));
    }
    cases.push_back(make_case(size, DType::float64, ReduceOp::max, {count, 2}, Content::special));
  }
  return cases;
}

TEST_P(Reductions, AllReduceOfEveryCountInEveryForm) {
  const auto cases = every_count(size());
  run([&](const Group& group) {
    for (const Case& one : cases) {
      SCOPED_TRACE(one.text());
      all_reduce_in_every_form(group, one);
    }
  });
}

TEST_P(Reductions, NamedVerbsAreTheirOperations) {
  const auto sum = make_case(size(), DType::int32, ReduceOp::sum, {5}, Content::bits);
  const auto max = make_case(size(), DType::int32, ReduceOp::max, {5}, Content::bits);
  const auto min = make_case(size(), DType::int32, ReduceOp::min, {5}, Content::bits);
  run([&](const Group& group) {
    const auto of = [&](const Case& one) -> const Tensor& { return one.inputs[index_of(group.rank())]; };
    EXPECT_TRUE(same(group.all_sum(of(sum)), sum.expected));
    EXPECT_TRUE(same(group.all_max(of(max)), max.expected));
    EXPECT_TRUE(same(group.all_min(of(min)), min.expected));
    Tensor a = of(sum).clone();
    Tensor b = of(max).clone();
    Tensor c = of(min).clone();
    group.all_sum(a.view());
    group.all_max(b.view());
    group.all_min(c.view());
    EXPECT_TRUE(same(a, sum.expected));
    EXPECT_TRUE(same(b, max.expected));
    EXPECT_TRUE(same(c, min.expected));
    group.all_sum(of(sum), b.view());
    group.all_max(of(max), c.view());
    group.all_min(of(min), a.view());
    EXPECT_TRUE(same(b, sum.expected));
    EXPECT_TRUE(same(c, max.expected));
    EXPECT_TRUE(same(a, min.expected));
  });
}

TEST_P(Reductions, AllReduceOfScalar) {
  const auto one = make_case(size(), DType::float32, ReduceOp::mean, {}, Content::sums);
  run([&](const Group& group) {
    const Tensor result = group.all_reduce(one.inputs[index_of(group.rank())], ReduceOp::mean);
    EXPECT_TRUE(same(result, one.expected));
  });
}

void reduce_in_every_form(const Group& group, const Case& one, int root) {
  SCOPED_TRACE(label("root", root));
  const bool is_root = group.rank() == root;
  const Tensor& mine = one.inputs[index_of(group.rank())];
  const Tensor before = mine.clone();
  const auto returned = group.reduce(mine, one.op, root);
  ASSERT_EQ(returned.has_value(), is_root);
  if (returned) {
    EXPECT_TRUE(same(*returned, one.expected)) << "returned";
  }

  // Ranks other than the root may pass nothing, or memory that stays as it is.
  Tensor out = spoiled(one.dtype, mine.shape());
  group.reduce(mine, is_root || group.rank() % 2 == 0 ? out.view() : nothing_of(one.dtype), one.op, root);
  EXPECT_TRUE(same(out, is_root ? one.expected : spoiled(one.dtype, mine.shape()))) << "in and out";

  Tensor both = mine.clone();
  group.reduce(both.view(), is_root ? both.view() : nothing_of(one.dtype), one.op, root);
  EXPECT_TRUE(same(both, is_root ? one.expected : before)) << "in place";

  Strided in(mine, Lie::reversed);
  Strided result(one.dtype, mine.shape(), Lie::every_second);
  group.reduce(in.view(), is_root ? result.view() : nothing_of(one.dtype), one.op, root);
  if (is_root) {
    EXPECT_TRUE(same_elements(result.view(), one.expected)) << "strided";
  }
  EXPECT_TRUE(same(mine, before)) << "the input was written to";
}

TEST_P(Reductions, ReduceOfEveryCountToEveryRoot) {
  const auto cases = every_count(size());
  run([&](const Group& group) {
    for (const Case& one : cases) {
      SCOPED_TRACE(one.text());
      const bool few = one.dtype == DType::float32 || one.dtype == DType::bfloat16;
      for (int root = 0; root < (few ? group.size() : 1); ++root) reduce_in_every_form(group, one, root);
    }
  });
}

TEST_P(Reductions, ReduceScatterOfEveryCount) {
  std::vector<Case> cases;
  for (const std::int64_t count : edge_counts(size())) {
    for (const DType dtype : {DType::float32, DType::float16, DType::int16}) {
      const Content content = content_for(ReduceOp::sum, dtype);
      cases.push_back(make_case(size(), dtype, ReduceOp::sum, {count * size()}, content));
    }
    cases.push_back(make_case(size(), DType::float64, ReduceOp::min, {count * size(), 2}, Content::special));
  }
  run([&](const Group& group) {
    for (const Case& one : cases) {
      SCOPED_TRACE(one.text());
      const Tensor& mine = one.inputs[index_of(group.rank())];
      const Tensor before = mine.clone();
      const auto rows = static_cast<std::size_t>(mine.shape()[0]) / ranks();
      const Tensor expected = reference_rows(one.expected, index_of(group.rank()) * rows, rows);
      EXPECT_TRUE(same(group.reduce_scatter(mine, one.op), expected)) << "returned";
      Tensor out = spoiled(one.dtype, expected.shape());
      group.reduce_scatter(mine, out.view(), one.op);
      EXPECT_TRUE(same(out, expected)) << "in and out";
      Strided in(mine, Lie::transposed);
      Strided result(one.dtype, expected.shape(), Lie::every_second);
      group.reduce_scatter(in.view(), result.view(), one.op);
      EXPECT_TRUE(same_elements(result.view(), expected)) << "strided";
      EXPECT_TRUE(result.gaps_untouched());
      EXPECT_TRUE(same(mine, before)) << "the input was written to";
      if (one.op == ReduceOp::sum) {
        EXPECT_TRUE(same(group.sum_scatter(mine), expected));
      }
    }
  });
}

TEST_P(Reductions, ReduceScatterV) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::uint64}) {
    for (std::uint64_t salt = 0; salt < 4; ++salt) {
      const std::vector<std::size_t> counts =
          salt == 0 ? std::vector<std::size_t>(ranks(), 0) : uneven_counts(size(), salt);
      const Case one =
          make_case(size(), dtype, ReduceOp::sum, {total(counts), 2}, content_for(ReduceOp::sum, dtype));
      run([&](const Group& group) {
        SCOPED_TRACE(one.text());
        const Tensor& mine = one.inputs[index_of(group.rank())];
        const Tensor expected =
            reference_rows(one.expected, sum_before(counts, group.rank()), counts[index_of(group.rank())]);
        EXPECT_TRUE(same(group.reduce_scatter_v(mine, counts, ReduceOp::sum), expected));
        EXPECT_TRUE(same(group.sum_scatter_v(mine, counts), expected));
        Tensor out = spoiled(dtype, expected.shape());
        group.reduce_scatter_v(mine, out.view(), counts, ReduceOp::sum);
        EXPECT_TRUE(same(out, expected));
        Strided in(mine, Lie::every_second);
        Strided result(dtype, expected.shape(), Lie::reversed);
        group.reduce_scatter_v(in.view(), result.view(), counts, ReduceOp::sum);
        EXPECT_TRUE(same_elements(result.view(), expected));
        EXPECT_TRUE(result.gaps_untouched());
      });
    }
  }
}

/// Numbers whose sums round differently in another order.
Tensor rough_values(DType dtype, std::int64_t count, int rank) {
  Tensor made(dtype, {count});
  const auto fill = [&]<class T>(std::span<T> elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::uint64_t random = mix(5, static_cast<std::uint64_t>(rank), i);
      elements[i] = T(static_cast<float>(random >> 40U) * 1.7e-5F);
    }
  };
  if (dtype == DType::float32) fill(made.span<float>());
  if (dtype == DType::float64) fill(made.span<double>());
  if (dtype == DType::float16) fill(made.span<float16>());
  if (dtype == DType::bfloat16) fill(made.span<bfloat16>());
  return made;
}

TEST_P(Reductions, SameBytesOnEveryRankAndOnEveryRun) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64}) {
    for (const int count : {1, 3, 101, 3001}) {
      // In memory that processes share, where ranks are processes.
      SharedBytes seen(2 * ranks(), static_cast<std::size_t>(count) * size_of(dtype));
      for (std::size_t turn = 0; turn < 2; ++turn) {
        const auto rank_main = [&](const Group& group) {
          const Tensor sum = group.all_sum(rough_values(dtype, count, group.rank()));
          std::ranges::copy(pack(sum), seen[turn * ranks() + index_of(group.rank())].begin());
        };
        world().run(size(), rank_main, turn + 1);
      }
      for (std::size_t i = 0; i < 2 * ranks(); ++i)
        EXPECT_TRUE(std::ranges::equal(seen[i], seen[0])) << dtype << " " << count << " " << i;
      EXPECT_TRUE(std::ranges::any_of(seen[0], [](std::byte each) { return each != std::byte{0}; }));
    }
  }
}

}  // namespace
}  // namespace rondo::test
