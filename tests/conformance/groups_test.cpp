// Groups made of groups: who is in them, and that their traffic never mixes.

#include "conformance/fixture.hpp"

namespace rondo::test {
namespace {

class Groups : public Conformance {};
RONDO_EVERYWHERE(Groups);

Tensor rank_of(const Group& group) { return Tensor::of<std::int32_t>({group.rank()}); }

/// What every member of `group` calls `value`, in rank order.
std::vector<std::int32_t> all_of(const Group& group, std::int32_t value) {
  std::vector<std::int32_t> all(index_of(group.size()));
  const std::array<std::int32_t, 1> mine = {value};
  group.all_gather(mine, all);
  return all;
}

TEST_P(Groups, SplitByColorKeepsTheOrder) {
  run([&](const Group& group) {
    const auto part = group.split(group.rank() % 2);
    ASSERT_TRUE(part.has_value());
    std::vector<std::int32_t> due;
    for (int rank = group.rank() % 2; rank < group.size(); rank += 2) due.push_back(rank);
    EXPECT_EQ(part->size(), static_cast<int>(due.size()));
    EXPECT_EQ(part->rank(), group.rank() / 2);
    EXPECT_EQ(all_of(*part, group.rank()), due);
    EXPECT_EQ(part->backend(), group.backend());
    EXPECT_EQ(part->timeout(), group.timeout());
    EXPECT_EQ(all_of(group, 3 * group.rank())[index_of(group.size() - 1)], 3 * (group.size() - 1));
  });
}

TEST_P(Groups, SplitByKeyAndTies) {
  run([&](const Group& group) {
    const auto reversed = group.split(7, group.size() - group.rank());
    ASSERT_TRUE(reversed.has_value());
    EXPECT_EQ(reversed->rank(), group.size() - 1 - group.rank());
    std::vector<std::int32_t> due;
    for (int rank = group.size() - 1; rank >= 0; --rank) due.push_back(rank);
    EXPECT_EQ(all_of(*reversed, group.rank()), due);

    const auto tied = group.split(0, group.rank() % 2);  // even ranks first, each half in its order
    ASSERT_TRUE(tied.has_value());
    due.clear();
    for (int rank = 0; rank < group.size(); rank += 2) due.push_back(rank);
    for (int rank = 1; rank < group.size(); rank += 2) due.push_back(rank);
    EXPECT_EQ(all_of(*tied, group.rank()), due);

    const auto negative_key = group.split(0, -3);
    ASSERT_TRUE(negative_key.has_value());
    EXPECT_EQ(negative_key->rank(), group.rank());
  });
}

TEST_P(Groups, NegativeColorJoinsNone) {
  run([&](const Group& group) {
    const auto rest = group.split(group.rank() == 0 ? -1 : 2);
    ASSERT_EQ(rest.has_value(), group.rank() != 0);
    if (rest) {
      EXPECT_EQ(rest->size(), group.size() - 1);
      EXPECT_EQ(rest->rank(), group.rank() - 1);
      rest->barrier();
    }
    EXPECT_FALSE(group.split(-5).has_value());
    group.barrier();
  });
}

TEST_P(Groups, SubgroupHasTheOrderOfItsList) {
  run([&](const Group& group) {
    std::vector<int> members;
    for (int rank = group.size() - 1; rank >= 0; rank -= 2) members.push_back(rank);
    const auto part = group.subgroup(members);
    const auto place = std::ranges::find(members, group.rank());
    ASSERT_EQ(part.has_value(), place != members.end());
    if (part) {
      EXPECT_EQ(part->rank(), static_cast<int>(place - members.begin()));
      EXPECT_EQ(all_of(*part, group.rank()), std::vector<std::int32_t>(members.begin(), members.end()));
    }
    group.barrier();
  });
}

TEST_P(Groups, SplitsOfSplits) {
  run([&](const Group& group) {
    const auto half = group.split(group.rank() * 2 / group.size());
    ASSERT_TRUE(half.has_value());
    const auto quarter = half->split(half->rank() % 2, -1);
    ASSERT_TRUE(quarter.has_value());
    const auto again = quarter->split(0, quarter->size() - quarter->rank());
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->rank(), quarter->size() - 1 - quarter->rank());
    const auto up = all_of(*quarter, group.rank());
    auto down = all_of(*again, group.rank());
    std::ranges::reverse(down);
    EXPECT_EQ(up, down);
    EXPECT_EQ(all_of(*half, half->rank()).size(), index_of(half->size()));
    EXPECT_EQ(all_of(group, group.rank()).back(), group.size() - 1);
  });
}

// The same pairs, tags and moments, in three groups at once: whole, neighbours to the right, reversed.
TEST_P(Groups, OverlappingGroupsNeverMix) {
  run([&](const Group& group) {
    const auto tail = group.split(group.rank() == 0 && group.size() > 1 ? -1 : 0);
    const auto reversed = group.split(0, group.size() - group.rank());
    ASSERT_TRUE(reversed.has_value());
    std::vector<const Group*> mine = {&group, &*reversed};
    if (tail) mine.push_back(&*tail);
    for (int round = 0; round < 4; ++round) {
      std::vector<Request> requests;
      std::vector<Tensor> outs;
      std::vector<Tensor> due;
      for (std::size_t which = 0; which < mine.size(); ++which) {
        const Group& one = *mine[(which + static_cast<std::size_t>(round)) % mine.size()];
        if (one.size() == 1) continue;
        const auto salt = static_cast<std::uint64_t>(&one == &group ? 1 : (&one == &*reversed ? 2 : 3));
        const Shape shape = {round == 2 ? 9'000 : 4};
        const int to = (one.rank() + 1) % one.size();
        const int from = (one.rank() + one.size() - 1) % one.size();
        requests.push_back(one.isend(values(DType::int32, shape, one.rank(), Content::bits, salt), to));
        outs.push_back(spoiled(DType::int32, shape));
        requests.push_back(one.irecv(outs.back().view(), from));
        due.push_back(values(DType::int32, shape, from, Content::bits, salt));
      }
      if (tail) {
        const Tensor sum = tail->all_sum(rank_of(*tail));
        EXPECT_EQ(sum.span<std::int32_t>()[0], tail->size() * (tail->size() - 1) / 2);
      }
      EXPECT_EQ(all_of(*reversed, group.rank()).front(), group.size() - 1);
      for (Request& request : requests) request.wait();
      for (std::size_t i = 0; i < outs.size(); ++i) EXPECT_TRUE(same(outs[i], due[i])) << "round " << round;
    }
    EXPECT_EQ(all_of(group, group.rank()).front(), 0);
  });
}

TEST_P(Groups, AGroupOutlivesTheOneItCameFrom) {
  run([&](Group group) {
    auto part = group.split(group.rank() % 2);
    ASSERT_TRUE(part.has_value());
    const int of_all = group.rank();
    group = *part;
    EXPECT_EQ(all_of(group, of_all)[index_of(group.rank())], of_all);
  });
}

TEST_P(Groups, ManySplitsOneAfterTheOther) {
  run([&](const Group& group) {
    for (int round = 0; round < 30; ++round) {
      const auto part = group.split((group.rank() + round) % 3);
      ASSERT_TRUE(part.has_value());
      const Tensor count = part->all_sum(Tensor::of<std::int32_t>({1}));
      EXPECT_EQ(count.span<std::int32_t>()[0], part->size());
    }
  });
}

}  // namespace
}  // namespace rondo::test
