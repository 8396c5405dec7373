#include "backend/gapless.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <type_traits>
#include <variant>
#include <vector>

namespace {

using rondo::Collective;
using rondo::ConstView;
using rondo::ReduceOp;
using rondo::Shape;
using rondo::View;
using rondo::backend::Gapless;
using rondo::backend::is_gapless;
using rondo::backend::Seat;
using Floats = std::vector<float>;

constexpr Seat root{0, 3};
constexpr Seat other{1, 3};

/// first, first + 1 and so on: every element tells where it is from.
Floats numbered(std::size_t count, float first) {
  Floats values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

Floats elements(const ConstView& view) {
  EXPECT_TRUE(view.contiguous());
  Floats values(view.count());
  std::memcpy(values.data(), view.data(), view.bytes());
  return values;
}

void fill(const View& view, const Floats& values) {
  ASSERT_TRUE(view.contiguous());
  ASSERT_EQ(view.count(), values.size());
  std::memcpy(view.data(), values.data(), view.bytes());
}

TEST(Gapless, a_call_without_gaps_keeps_its_memory) {
  Floats in = numbered(6, 1000);
  Floats out = numbered(6, 2000);
  const Collective call = rondo::AllReduce{in, out, ReduceOp::sum};
  EXPECT_TRUE(is_gapless(call));
  Gapless gapless(call, other);
  const auto& changed = std::get<rondo::AllReduce>(gapless.call());
  EXPECT_EQ(changed.in.data(), std::as_bytes(std::span(in)).data());
  EXPECT_EQ(changed.out.data(), std::as_bytes(std::span(out)).data());
  gapless.finish();
  EXPECT_EQ(out, numbered(6, 2000));
}

TEST(Gapless, strided_sides_are_packed_and_only_their_elements_are_written_back) {
  const Floats in = numbered(12, 1000);
  Floats out = numbered(12, 2000);
  const ConstView transposed(in.data(), {3, 2}, {1, 3});                 // 0 3 1 4 2 5
  const View every_second_backwards(out.data() + 11, {3, 2}, {-4, -2});  // 11 9 7 5 3 1
  const Collective call = rondo::AllReduce{transposed, every_second_backwards, ReduceOp::product};
  EXPECT_FALSE(is_gapless(call));
  Gapless gapless(call, other);
  EXPECT_TRUE(is_gapless(gapless.call()));
  const auto& changed = std::get<rondo::AllReduce>(gapless.call());
  EXPECT_EQ(changed.op, ReduceOp::product);
  EXPECT_EQ(elements(changed.in), (Floats{1000, 1003, 1001, 1004, 1002, 1005}));
  EXPECT_EQ(Shape(changed.in.shape().begin(), changed.in.shape().end()), (Shape{3, 2}));
  EXPECT_EQ(Shape(changed.out.shape().begin(), changed.out.shape().end()), (Shape{3, 2}));
  fill(changed.out, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(out, numbered(12, 2000));  // not before the call is done
  gapless.finish();
  EXPECT_EQ(out, (Floats{2000, 6, 2002, 5, 2004, 4, 2006, 3, 2008, 2, 2010, 1}));
  EXPECT_EQ(in, numbered(12, 1000));
}

TEST(Gapless, one_side_alone_is_replaced_when_the_other_has_no_gaps) {
  Floats in = numbered(4, 1000);
  Floats out = numbered(8, 2000);
  const Collective call = rondo::AllToAll{in, View(out.data(), {4}, {2})};
  EXPECT_FALSE(is_gapless(call));
  Gapless gapless(call, other);
  const auto& changed = std::get<rondo::AllToAll>(gapless.call());
  EXPECT_EQ(changed.in.data(), std::as_bytes(std::span(in)).data());
  fill(changed.out, {5, 6, 7, 8});
  gapless.finish();
  EXPECT_EQ(out, (Floats{5, 2001, 6, 2003, 7, 2005, 8, 2007}));
}

TEST(Gapless, the_same_strided_place_may_be_in_and_out) {
  Floats data = numbered(6, 1000);
  const View odd(data.data() + 1, {3}, {2});
  Gapless gapless(rondo::AllReduce{odd, odd, ReduceOp::sum}, other);
  const auto& changed = std::get<rondo::AllReduce>(gapless.call());
  EXPECT_EQ(elements(changed.in), (Floats{1001, 1003, 1005}));
  EXPECT_NE(static_cast<const void*>(changed.in.data()), static_cast<const void*>(changed.out.data()));
  fill(changed.out, {7, 8, 9});
  gapless.finish();
  EXPECT_EQ(data, (Floats{1000, 7, 1002, 8, 1004, 9}));
}

TEST(Gapless, a_broadcast_reads_at_the_root_and_writes_everywhere) {
  for (const Seat seat : {root, other}) {
    Floats data = numbered(6, 1000);
    const Collective call = rondo::Broadcast{View(data.data(), {3}, {2}), 0};
    EXPECT_FALSE(is_gapless(call));
    Gapless gapless(call, seat);
    const auto& changed = std::get<rondo::Broadcast>(gapless.call());
    EXPECT_EQ(changed.root, 0);
    if (seat.rank == 0) {
      EXPECT_EQ(elements(changed.data), (Floats{1000, 1002, 1004}));
    } else {
      fill(changed.data, {4, 5, 6});
    }
    gapless.finish();
    EXPECT_EQ(data, seat.rank == 0 ? numbered(6, 1000) : (Floats{4, 1001, 5, 1003, 6, 1005}));
  }
}

// What a rank does not use it need not even have: a view there may point nowhere.
TEST(Gapless, sides_that_a_rank_does_not_use_are_left_alone) {
  Floats small = numbered(4, 1000);
  const View strided(small.data(), {2}, {2});
  float* nowhere = nullptr;
  const View absent(nowhere, {6}, {2});
  const std::vector<std::size_t> counts = {2, 2, 2};
  const Collective calls[] = {
      rondo::Reduce{strided, absent, ReduceOp::sum, 0}, rondo::Gather{strided, absent, 0},
      rondo::GatherV{strided, absent, counts, 0},       rondo::Scatter{absent, strided, 0},
      rondo::ScatterV{absent, strided, counts, 0},
  };
  for (const Collective& call : calls) {
    std::iota(small.begin(), small.end(), 1000.0F);
    Gapless gapless(call, other);
    std::visit(
        [&]<class C>(const C& changed) {
          if constexpr (std::is_same_v<C, rondo::Scatter> || std::is_same_v<C, rondo::ScatterV>) {
            EXPECT_EQ(changed.in.data(), nullptr);
            fill(changed.out, {1, 2});
          } else if constexpr (std::is_same_v<C, rondo::Reduce> || std::is_same_v<C, rondo::Gather> ||
                               std::is_same_v<C, rondo::GatherV>) {
            EXPECT_EQ(elements(changed.in), (Floats{1000, 1002}));
            EXPECT_EQ(changed.out.data(), nullptr);
          }
        },
        gapless.call());
    gapless.finish();
    const bool scatters = call.index() == calls[3].index() || call.index() == calls[4].index();
    EXPECT_EQ(small, scatters ? (Floats{1, 1001, 2, 1003}) : numbered(4, 1000));
  }
}

TEST(Gapless, a_root_uses_both_sides) {
  Floats in = numbered(4, 1000);
  Floats out = numbered(12, 2000);
  Gapless gapless(rondo::Gather{ConstView(in.data(), {2}, {2}), View(out.data(), {6}, {2}), 0}, root);
  const auto& changed = std::get<rondo::Gather>(gapless.call());
  EXPECT_EQ(elements(changed.in), (Floats{1000, 1002}));
  fill(changed.out, {1, 2, 3, 4, 5, 6});
  gapless.finish();
  EXPECT_EQ(out, (Floats{1, 2001, 2, 2003, 3, 2005, 4, 2007, 5, 2009, 6, 2011}));
}

TEST(Gapless, a_barrier_has_nothing_to_pack) {
  EXPECT_TRUE(is_gapless(rondo::Barrier{}));
  Gapless gapless(rondo::Barrier{}, other);
  gapless.finish();
  EXPECT_TRUE(std::holds_alternative<rondo::Barrier>(gapless.call()));
}

}  // namespace
