#include "collective/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace rondo::collective {
namespace {

using transport::Verb;

const Verb verbs[] = {Verb::all_reduce, Verb::all_gather,       Verb::all_gather_v, Verb::reduce_scatter,
                      Verb::broadcast,  Verb::reduce_scatter_v, Verb::reduce,       Verb::gather,
                      Verb::gather_v,   Verb::scatter,          Verb::scatter_v,    Verb::all_to_all,
                      Verb::barrier,    Verb::all_to_all_v};

/// The algorithms that algorithms.hpp has for a verb.
std::set<Algorithm> written(Verb verb) {
  switch (verb) {
    case Verb::all_reduce:
      return {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::one_shot, Algorithm::direct,
              Algorithm::flat};
    case Verb::all_gather:
    case Verb::all_gather_v:
    case Verb::reduce_scatter:
    case Verb::reduce_scatter_v:
      return {Algorithm::ring, Algorithm::direct, Algorithm::flat};
    case Verb::broadcast:
      return {Algorithm::binomial, Algorithm::flat};
    case Verb::reduce:
      return {Algorithm::binomial, Algorithm::direct, Algorithm::flat};
    case Verb::gather:
    case Verb::scatter:
      return {Algorithm::linear, Algorithm::flat};
    case Verb::gather_v:
    case Verb::scatter_v:
      return {Algorithm::linear};
    case Verb::all_to_all:
      return {Algorithm::pairwise, Algorithm::flat};
    case Verb::all_to_all_v:
      return {Algorithm::pairwise};
    case Verb::barrier:
      return {Algorithm::dissemination, Algorithm::flat};
    case Verb::none:
    case Verb::split:
    case Verb::plan:
      return {};
  }
  return {};
}

bool reduces(Verb verb) {
  return verb == Verb::all_reduce || verb == Verb::reduce_scatter || verb == Verb::reduce_scatter_v ||
         verb == Verb::reduce;
}

template <class Look>
void every_case(const Look& look) {
  std::vector<std::size_t> bytes{0, ~std::size_t{0}};
  for (std::size_t b = 1; b <= std::size_t{1} << 33; b *= 2) bytes.insert(bytes.end(), {b - 1, b, b + 1});
  for (const Verb verb : verbs) {
    for (int size = 2; size <= 64; ++size) {
      for (const std::size_t b : bytes) {
        for (const bool arena : {false, true}) {
          for (const bool once : {false, true}) look(Facts{verb, b, size, arena, once});
        }
      }
    }
  }
}

TEST(Select, EveryCallHasAnAlgorithmThatIsWritten) {
  every_case([](const Facts& facts) {
    const Algorithm chosen = select(default_table(), facts);
    ASSERT_TRUE(written(facts.verb).contains(chosen)) << to_string(facts.verb) << ' ' << to_string(chosen);
    if (chosen == Algorithm::flat) {
      ASSERT_TRUE(facts.arena);
    }
  });
}

TEST(Select, WhatIsCombinedOnceIsCombinedInOnePlace) {
  every_case([](const Facts& facts) {
    if (!reduces(facts.verb) || !facts.combines_once) return;
    const Algorithm chosen = select(default_table(), facts);
    ASSERT_TRUE(chosen == Algorithm::one_shot || chosen == Algorithm::direct || chosen == Algorithm::flat)
        << to_string(facts.verb) << ' ' << facts.bytes << ' ' << facts.size << ' ' << to_string(chosen);
  });
}

// One-shot needs n - 1 vectors of scratch.
TEST(Select, OneShotStaysSmall) {
  every_case([](const Facts& facts) {
    if (select(default_table(), facts) != Algorithm::one_shot) return;
    ASSERT_LE(facts.bytes * static_cast<std::size_t>(facts.size), std::size_t{128} << 10);
  });
}

TEST(Select, EveryRowIsReached) {
  const std::span<const Row> table = default_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Row& row = table[i];
    const Facts facts{row.verb, row.bytes_to, row.size_from, row.arena == 1, row.combines_once == 1};
    const auto first = std::find_if(table.begin(), table.end(), [&](const Row& other) {
      return other.verb == facts.verb && facts.bytes <= other.bytes_to && facts.size >= other.size_from &&
             facts.size <= other.size_to && (other.arena == -1 || (other.arena == 1) == facts.arena) &&
             (other.combines_once == -1 || (other.combines_once == 1) == facts.combines_once);
    });
    EXPECT_EQ(static_cast<std::size_t>(first - table.begin()), i) << to_string(row.verb);
    EXPECT_EQ(select(table, facts), row.algorithm);
  }
}

TEST(Select, FirstRowThatFitsWins) {
  const Row table[] = {{Verb::all_reduce, 100, 2, 4, 0, 0, Algorithm::one_shot},
                       {Verb::all_reduce, 100, 2, 8, -1, -1, Algorithm::direct},
                       {Verb::all_reduce, 5000, 2, 64, -1, -1, Algorithm::ring}};
  EXPECT_EQ(select(table, {Verb::all_reduce, 100, 4, false, false}), Algorithm::one_shot);
  EXPECT_EQ(select(table, {Verb::all_reduce, 100, 5, false, false}), Algorithm::direct);
  EXPECT_EQ(select(table, {Verb::all_reduce, 100, 4, true, false}), Algorithm::direct);
  EXPECT_EQ(select(table, {Verb::all_reduce, 100, 4, false, true}), Algorithm::direct);
  EXPECT_EQ(select(table, {Verb::all_reduce, 101, 4, false, false}), Algorithm::ring);
}

TEST(Select, TextIsAligned) {
  const Row table[] = {{Verb::all_reduce, 65536, 2, 4, 0, 1, Algorithm::one_shot, 1000},
                       {Verb::reduce_scatter_v, ~std::size_t{0}, 2, 2147483647, -1, 0, Algorithm::direct}};
  EXPECT_EQ(to_string(table),
            "collective            from    up to  ranks    arena   combined once  algorithm\n"
            "all_reduce          1000 B   64 KiB  2..4     no      yes            one_shot\n"
            "reduce_scatter_v         0      any  2..      any     no             direct\n");
  std::istringstream lines(to_string(default_table()));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  EXPECT_EQ(count, default_table().size() + 1);
}

}  // namespace
}  // namespace rondo::collective
