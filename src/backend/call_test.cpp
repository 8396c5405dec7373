#include "backend/call.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace rondo::backend;
using rondo::any_source;
using rondo::any_tag;
using rondo::ConstView;
using rondo::DType;
using rondo::Error;
using rondo::ErrorKind;
using rondo::ReduceOp;
using rondo::Shape;
using rondo::View;
using Counts = std::vector<std::size_t>;

constexpr Seat alone{0, 1};
constexpr Seat seat{1, 3};
constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

/// The text of the error, with its kind before it when it is not invalid_argument; empty when there is none.
std::string text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return (error.kind() == ErrorKind::invalid_argument ? "" : std::string(to_string(error.kind())) + " ") +
           error.what();
  }
  return {};
}
std::string refused(const rondo::Collective& call, Seat where = seat) {
  return text_of([&] { validate(call, where); });
}

// ---- all_to_all_v -------------------------------------------------------------------------------------

std::string exchange(const Shape& in, const Counts& send, const Counts& receive, Seat where,
                     DType dtype = DType::float32) {
  return text_of([&] { (void)all_to_all_v_shape(dtype, in, send, receive, where); });
}

TEST(AllToAllVShape, the_documented_examples) {
  EXPECT_EQ(exchange({}, {1}, {1}, alone), "all_to_all_v input must have a leading row dimension");
  EXPECT_EQ(exchange({2, 1}, {}, {2}, alone),
            "all_to_all_v requires 1 send counts and receive counts, got 0 and 1");
  EXPECT_EQ(exchange({2, 1}, {1}, {1}, alone),
            "all_to_all_v send count sum 1 does not match input row count 2");
  EXPECT_EQ(exchange({2, 1}, {2}, {1}, alone), "all_to_all_v singleton send and receive counts must match");
}

TEST(AllToAllVShape, every_check_has_its_text) {
  EXPECT_EQ(exchange({6}, {1, 2, 3}, {1, 2}, seat),
            "all_to_all_v requires 3 send counts and receive counts, got 3 and 2");
  EXPECT_EQ(exchange({6}, {most, 1, 0}, {0, 0, 0}, seat), "all_to_all_v send count sum overflowed usize");
  EXPECT_EQ(exchange({6}, {1, 2, 3}, {most, 2, 1}, seat), "all_to_all_v receive count sum overflowed usize");
  EXPECT_EQ(exchange({7}, {1, 2, 3}, {1, 2, 3}, seat),
            "all_to_all_v send count sum 6 does not match input row count 7");
  const std::int64_t much = std::int64_t{1} << 40;
  EXPECT_EQ(exchange({6, much, much}, {1, 2, 3}, {1, 2, 3}, seat),
            "all_to_all_v row byte size overflowed usize");
  EXPECT_EQ(exchange({6, much}, {1, 2, 3}, {1, 2, std::size_t{1} << 40U}, seat),
            "all_to_all_v output byte size overflowed usize");
  EXPECT_EQ(exchange({much, much}, {0, 0, static_cast<std::size_t>(much)}, {1, 0, 1}, seat),
            "all_to_all_v send byte size for peer 2 overflowed usize");
  EXPECT_EQ(exchange({6}, {1, 2, 3}, {1, 4, 3}, seat),
            "all_to_all_v self send count 2 does not match self receive count 4");
}

TEST(AllToAllVShape, the_first_wrong_thing_is_told) {
  const std::int64_t much = std::int64_t{1} << 40;
  const Counts overflow = {most, most, most};
  EXPECT_EQ(exchange({}, {most, 1}, {}, seat), "all_to_all_v input must have a leading row dimension");
  EXPECT_EQ(exchange({5, much, much}, overflow, {most, most}, seat),
            "all_to_all_v requires 3 send counts and receive counts, got 3 and 2");
  EXPECT_EQ(exchange({5, much, much}, overflow, overflow, seat),
            "all_to_all_v send count sum overflowed usize");
  EXPECT_EQ(exchange({5, much, much}, {1, 2, 3}, overflow, seat),
            "all_to_all_v receive count sum overflowed usize");
  EXPECT_EQ(exchange({5, much, much}, {1, 2, 3}, {1, 9, 1}, seat),
            "all_to_all_v send count sum 6 does not match input row count 5");
  EXPECT_EQ(exchange({6, much, much}, {1, 2, 3}, {1, 9, 1}, seat),
            "all_to_all_v row byte size overflowed usize");
}

TEST(AllToAllVShape, gives_the_shape_of_the_result) {
  const Counts send = {1, 2, 3};
  const Counts receive = {7, 2, 0};
  EXPECT_EQ(all_to_all_v_shape(DType::int8, Shape{6, 4, 5}, send, receive, seat), (Shape{9, 4, 5}));
  const Counts none = {0, 0, 0};
  EXPECT_EQ(all_to_all_v_shape(DType::int8, Shape{0, 3}, none, none, seat), (Shape{0, 3}));
  const Counts two = {2};
  EXPECT_EQ(all_to_all_v_shape(DType::int32, Shape{2, 2}, two, two, alone), (Shape{2, 2}));
}

// ---- other shapes -------------------------------------------------------------------------------------

TEST(Shapes, of_gathering) {
  EXPECT_EQ(all_gather_shape(Shape{}, seat), Shape{3});
  EXPECT_EQ(all_gather_shape(Shape{2, 5}, seat), (Shape{6, 5}));
  EXPECT_NE(text_of([] { (void)all_gather_shape(Shape{std::int64_t{1} << 62}, seat); }), "");
  const Counts counts = {4, 2, 1};
  EXPECT_EQ(all_gather_v_shape(Shape{2, 5}, counts, seat, "all_gather_v"), (Shape{7, 5}));
  EXPECT_EQ(text_of([&] {
              (void)all_gather_v_shape(Shape{4, 5}, counts, seat, "gather_v");
            }),
            "gather_v: in has 4 rows, counts[1] is 2");
  EXPECT_EQ(text_of([&] { (void)all_gather_v_shape(Shape{}, counts, seat, "gather_v"); }),
            "gather_v requires a non-scalar input");
  EXPECT_EQ(text_of([&] {
              (void)all_gather_v_shape(Shape{2}, counts, Seat{0, 4}, "gather_v");
            }),
            "gather_v: 3 counts given, expected one per rank (4)");
  const Counts overflow = {most, 2, 1};
  EXPECT_EQ(text_of([&] { (void)all_gather_v_shape(Shape{2}, overflow, seat, "gather_v"); }),
            "gather_v: the sum of the counts overflows");
}

TEST(Shapes, of_scattering) {
  EXPECT_EQ(reduce_scatter_shape(Shape{6, 5}, seat), (Shape{2, 5}));
  EXPECT_EQ(text_of([] { (void)reduce_scatter_shape(Shape{}, seat); }),
            "sum-scatter requires a non-scalar input");
  EXPECT_EQ(text_of([] {
              (void)reduce_scatter_shape(Shape{7, 6}, seat);
            }),
            "sum-scatter input's first dimension (7) is not divisible by group size (3)");
  const Counts counts = {4, 2, 1};
  EXPECT_EQ(reduce_scatter_v_shape(Shape{7, 5}, counts, seat), (Shape{2, 5}));
  EXPECT_EQ(text_of([&] {
              (void)reduce_scatter_v_shape(Shape{8, 5}, counts, seat);
            }),
            "reduce_scatter_v: in has 8 rows, the counts sum to 7");
  EXPECT_EQ(all_to_all_shape(Shape{6, 5}, seat), (Shape{6, 5}));
  EXPECT_EQ(text_of([] {
              (void)all_to_all_shape(Shape{5, 6}, seat);
            }),
            "all_to_all input's first dimension (5) is not divisible by group size (3)");
}

// ---- peers and tags -----------------------------------------------------------------------------------

std::string peer(std::string_view side, int rank, Seat where = seat) {
  return text_of([&] { validate_peer("send", side, rank, where); });
}

TEST(Peers, must_be_other_ranks_of_the_group) {
  EXPECT_EQ(peer("dst_rank", 0), "");
  EXPECT_EQ(peer("dst_rank", 2), "");
  EXPECT_EQ(peer("dst_rank", 3), "send: dst_rank 3 >= world_size 3");
  EXPECT_EQ(peer("src_rank", 5), "send: src_rank 5 >= world_size 3");
  EXPECT_EQ(peer("dst_rank", -1), "send: dst_rank -1 is negative");
  EXPECT_EQ(peer("dst_rank", 1), "send: dst_rank equals self rank — use a tensor copy instead");
  EXPECT_EQ(peer("src_rank", 1), "send: src_rank equals self rank");
  EXPECT_EQ(peer("dst_rank", 0, alone), "send: dst_rank equals self rank — use a tensor copy instead");
  EXPECT_EQ(peer("dst_rank", 1, alone), "send: dst_rank 1 >= world_size 1");
}

TEST(Messages, wildcards_are_for_receives) {
  std::vector<float> memory(3);
  const auto message = [&](const rondo::Message& each, Seat where = seat) {
    return text_of([&] { validate("batch", each, where); });
  };
  EXPECT_EQ(message(rondo::Send{memory, 2, 0}), "");
  EXPECT_EQ(message(rondo::Send{memory, any_source, 0}), "batch: dst_rank -1 is negative");
  EXPECT_EQ(message(rondo::Send{memory, 2, any_tag}), "batch: tag -1 is negative");
  EXPECT_EQ(message(rondo::Recv{memory, any_source, any_tag}), "");
  EXPECT_EQ(message(rondo::Recv{memory, 2, -2}), "batch: tag -2 is negative (only any_tag may be)");
  EXPECT_EQ(message(rondo::Recv{memory, -2, 0}), "batch: src_rank -2 is negative");
  EXPECT_EQ(message(rondo::Recv{memory, any_source, 0}, alone),
            "batch: a group of one has no other rank to receive from");
}

// ---- collectives --------------------------------------------------------------------------------------

struct Memory {
  std::vector<float> storage = std::vector<float>(100);
  View at(std::size_t first, std::size_t count) { return View(std::span(storage).subspan(first, count)); }
  View other(std::size_t count) { return at(99 - count, count); }
};

TEST(Collectives, types_and_counts_must_fit) {
  Memory m;
  std::vector<double> doubles(6);
  EXPECT_EQ(refused(rondo::AllReduce{m.at(0, 6), doubles, ReduceOp::sum}),
            "all_sum: in is float32, out is float64; expected the same dtype");
  EXPECT_EQ(refused(rondo::AllReduce{m.at(0, 6), m.other(5), ReduceOp::max}),
            "all_max: out has 5 elements, expected 6 (as many as in)");
  EXPECT_EQ(refused(rondo::AllReduce{m.at(0, 6), m.other(6), ReduceOp::bit_and}),
            "unsupported all_reduce: bit_and of float32 is not defined");
  EXPECT_EQ(refused(rondo::AllGather{m.at(0, 2), m.other(7)}),
            "all_gather: out has 7 elements, expected 6 (3 ranks x 2 in in)");
  EXPECT_EQ(refused(rondo::ReduceScatter{m.at(0, 7), m.other(2), ReduceOp::sum}),
            "sum_scatter: in has 7 elements, expected 6 (3 ranks x 2 in out)");
  EXPECT_EQ(refused(rondo::AllToAll{m.at(0, 7), m.other(7)}),
            "all_to_all: 7 elements do not divide into 3 equal parts");
  EXPECT_EQ(refused(rondo::Barrier{}), "");
}

TEST(Collectives, roots_must_be_ranks_and_only_roots_need_the_big_side) {
  Memory m;
  for (const int root : {-1, 3}) {
    const std::string text = "root " + std::to_string(root) + " is not a rank of a group of 3";
    EXPECT_EQ(refused(rondo::Broadcast{m.at(0, 2), root}), "broadcast: " + text);
    EXPECT_EQ(refused(rondo::Reduce{m.at(0, 2), m.other(2), ReduceOp::sum, root}), "reduce: " + text);
    EXPECT_EQ(refused(rondo::Gather{m.at(0, 2), m.other(6), root}), "gather: " + text);
    EXPECT_EQ(refused(rondo::Scatter{m.at(0, 6), m.other(2), root}), "scatter: " + text);
  }
  EXPECT_EQ(refused(rondo::Gather{m.at(0, 2), m.other(1), 0}), "");
  EXPECT_EQ(refused(rondo::Gather{m.at(0, 2), m.other(1), 1}),
            "gather: out has 1 elements, expected 6 (3 ranks x 2 in in)");
  EXPECT_EQ(refused(rondo::Scatter{m.at(0, 1), m.other(2), 2}), "");
  EXPECT_EQ(refused(rondo::Scatter{m.at(0, 1), m.other(2), 1}),
            "scatter: in has 1 elements, expected 6 (3 ranks x 2 in out)");
  EXPECT_EQ(refused(rondo::Reduce{m.at(0, 2), m.other(1), ReduceOp::sum, 0}), "");
  EXPECT_EQ(refused(rondo::Reduce{m.at(0, 2), m.other(1), ReduceOp::sum, 1}),
            "reduce: out has 1 elements, expected 2 (as many as in)");
}

TEST(Collectives, counts_of_v_forms_are_rows) {
  Memory m;
  const Counts counts = {3, 2, 0};
  const Counts two = {3, 2};
  const Counts none_here = {3, 0, 1};
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(0, 8), m.other(20), counts}), "");  // rows of 4
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(0, 8), m.other(20), two}),
            "all_gather_v: 2 counts given, expected one per rank (3)");
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(0, 7), m.other(20), counts}),
            "all_gather_v: in has 7 elements, which are not 2 equal rows (counts[1])");
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(0, 8), m.other(21), counts}),
            "all_gather_v: out has 21 elements, expected 20 (5 rows of 4 elements)");
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(0, 1), m.other(20), none_here}),
            "all_gather_v: in has 1 elements, expected 0 (this rank's count is 0)");
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(0, 0), m.other(20), none_here}), "");
  EXPECT_EQ(refused(rondo::ReduceScatterV{m.at(0, 20), m.other(8), ReduceOp::sum, counts}), "");
  EXPECT_EQ(refused(rondo::ReduceScatterV{m.at(0, 19), m.other(8), ReduceOp::sum, counts}),
            "sum_scatter_v: in has 19 elements, expected 20 (5 rows of 4 elements)");
  EXPECT_EQ(refused(rondo::GatherV{m.at(0, 7), m.other(1), counts, 0}),
            "gather_v: in has 7 elements, which are not 2 equal rows (counts[1])");
  EXPECT_EQ(refused(rondo::ScatterV{m.at(0, 1), m.other(8), counts, 2}), "");
}

TEST(Collectives, in_and_out_may_be_the_same_place_where_that_makes_sense) {
  Memory m;
  EXPECT_EQ(refused(rondo::AllReduce{m.at(0, 6), m.at(0, 6), ReduceOp::sum}), "");
  EXPECT_EQ(refused(rondo::AllReduce{m.at(0, 6), m.at(6, 6), ReduceOp::sum}), "");  // touching is not overlap
  EXPECT_EQ(refused(rondo::AllReduce{m.at(0, 6), m.at(1, 6), ReduceOp::sum}),
            "all_sum: in and out overlap in memory");
  EXPECT_EQ(refused(rondo::AllReduce{m.at(5, 6), m.at(0, 6), ReduceOp::sum}),
            "all_sum: in and out overlap in memory");
  float* data = m.storage.data();
  const View every_second(data, {3}, {2});
  const View backwards(data + 4, {3}, {-2});
  EXPECT_EQ(refused(rondo::AllReduce{every_second, every_second, ReduceOp::sum}), "");
  EXPECT_EQ(refused(rondo::AllReduce{every_second, backwards, ReduceOp::sum}),
            "all_sum: in and out overlap in memory");
  EXPECT_EQ(refused(rondo::AllReduce{View(data, {2, 3}), View(data, {6}), ReduceOp::sum}), "");
  EXPECT_EQ(refused(rondo::AllToAll{m.at(0, 6), m.at(0, 6)}), "all_to_all: in and out overlap in memory");
}

TEST(Collectives, in_may_be_the_own_part_of_out) {
  Memory m;
  const Counts counts = {3, 2, 1};
  // Rank 1 of 3: its part begins after 2 elements, or after 3 rows of 4.
  EXPECT_EQ(refused(rondo::AllGather{m.at(2, 2), m.at(0, 6)}), "");
  EXPECT_EQ(refused(rondo::AllGather{m.at(0, 2), m.at(0, 6)}), "all_gather: in and out overlap in memory");
  EXPECT_EQ(refused(rondo::AllGather{m.at(3, 2), m.at(0, 6)}), "all_gather: in and out overlap in memory");
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(12, 8), m.at(0, 24), counts}), "");
  EXPECT_EQ(refused(rondo::AllGatherV{m.at(11, 8), m.at(0, 24), counts}),
            "all_gather_v: in and out overlap in memory");
  EXPECT_EQ(refused(rondo::Gather{m.at(2, 2), m.at(0, 6), 1}), "");
  EXPECT_EQ(refused(rondo::Gather{m.at(4, 2), m.at(0, 6), 1}), "gather: in and out overlap in memory");
  EXPECT_EQ(refused(rondo::Scatter{m.at(0, 6), m.at(2, 2), 1}), "");
  EXPECT_EQ(refused(rondo::Scatter{m.at(0, 6), m.at(0, 2), 1}), "scatter: in and out overlap in memory");
  EXPECT_EQ(refused(rondo::ScatterV{m.at(0, 24), m.at(12, 8), counts, 1}), "");
  EXPECT_EQ(refused(rondo::ReduceScatter{m.at(0, 6), m.at(2, 2), ReduceOp::sum}),
            "sum_scatter: in and out overlap in memory");
}

TEST(Collectives, names_are_those_that_users_know) {
  Memory m;
  EXPECT_EQ(name_of(rondo::AllReduce{m.at(0, 1), m.at(0, 1), ReduceOp::min}), "all_min");
  EXPECT_EQ(name_of(rondo::AllReduce{m.at(0, 1), m.at(0, 1), ReduceOp::product}), "all_reduce");
  EXPECT_EQ(name_of(rondo::ReduceScatter{m.at(0, 1), m.at(0, 1), ReduceOp::sum}), "sum_scatter");
  EXPECT_EQ(name_of(rondo::Barrier{}), "barrier");
  EXPECT_EQ(verb_of(rondo::Broadcast{m.at(0, 1), 0}), Verb::broadcast);
  EXPECT_EQ(verb_of(rondo::AllToAllV{m.at(0, 1), m.at(0, 1), {}, {}}), Verb::all_to_all_v);
  EXPECT_EQ(verb_of(rondo::Barrier{}), Verb::barrier);
  EXPECT_EQ(row_elements(Shape{7, 4, 5}), 20U);
  EXPECT_EQ(row_elements(Shape{7}), 1U);
  EXPECT_EQ(row_elements(Shape{}), 1U);
}

}  // namespace
