// Messages in every form, below and above the eager size, with plenty of credit and with hardly any.

#include <numeric>
#include <random>

#include "conformance/fixture.hpp"

namespace rondo::test {
namespace {

std::vector<World> message_worlds() {
  std::vector<World> all = worlds();
  for (const World& world : worlds()) {
    if (world.name != "run_wires" && world.name != "group_wires") continue;
    World tight = world.with([](Config& config) {
      config.eager_bytes = 16;
      config.credit_bytes = 256;
    });
    tight.name = world.name == "run_wires" ? "run_tight" : "group_tight";
    all.push_back(tight);
  }
  return all;
}

std::vector<int> message_sizes() {
  std::vector<int> all = sizes();
  std::erase(all, 1);
  return all;
}

class Messages : public Conformance {};
INSTANTIATE_TEST_SUITE_P(Worlds, Messages,
                         testing::Combine(testing::ValuesIn(message_worlds()),
                                          testing::ValuesIn(message_sizes())),
                         world_and_size);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Messages);

/// Float32 counts: nothing, little, around the default eager size, far above it.
constexpr std::array<std::int64_t, 8> counts = {0, 1, 4, 5, 63, 8192, 8193, 20'000};

int next_of(const Group& group) { return (group.rank() + 1) % group.size(); }
int previous_of(const Group& group) { return (group.rank() + group.size() - 1) % group.size(); }

Tensor message(int from, DType dtype, const Shape& shape, std::uint64_t salt = 0) {
  return values(dtype, shape, from, Content::bits, 100 + salt);
}

TEST_P(Messages, RingOfEveryTypeInEveryForm) {
  run([&](const Group& group) {
    for (const DType dtype : dtypes()) {
      SCOPED_TRACE(label(dtype));
      const Shape shape = {5, 2};
      const Tensor mine = message(group.rank(), dtype, shape);
      const Tensor due = message(previous_of(group), dtype, shape);

      Request sending = group.isend(mine, next_of(group));
      EXPECT_TRUE(same(group.recv(dtype, shape, previous_of(group)), due)) << "recv";
      sending.wait();

      Tensor out = spoiled(dtype, shape);
      Request receiving = group.irecv(out.view(), previous_of(group));
      group.send(mine, next_of(group));
      receiving.wait();
      EXPECT_TRUE(same(out, due)) << "irecv";

      Tensor shifted = spoiled(dtype, shape);
      const MessageInfo info =
          group.sendrecv(mine, next_of(group), shifted.view(), previous_of(group), {.tag = 5});
      EXPECT_TRUE(same(shifted, due)) << "sendrecv";
      EXPECT_EQ(info.source, previous_of(group));
      EXPECT_EQ(info.tag, 5);
      EXPECT_EQ(info.dtype, dtype);
      EXPECT_EQ(info.shape, shape);
      EXPECT_EQ(info.bytes, mine.bytes());

      Tensor batched = spoiled(dtype, shape);
      group.batch({Recv{batched.view(), previous_of(group)}, Send{mine, next_of(group)}});
      EXPECT_TRUE(same(batched, due)) << "batch";
    }
  });
}

TEST_P(Messages, EveryCountFromEveryRankToEveryOther) {
  run([&](const Group& group) {
    for (const std::int64_t count : counts) {
      for (int distance = 1; distance < group.size(); ++distance) {
        SCOPED_TRACE(label(count, "distance", distance));
        const int to = (group.rank() + distance) % group.size();
        const int from = (group.rank() + group.size() - distance) % group.size();
        const Tensor mine = message(group.rank(), DType::float32, {count}, index_of(distance));
        const Tensor due = message(from, DType::float32, {count}, index_of(distance));
        Request sending = group.isend(mine, to);
        Tensor out = spoiled(DType::float32, Shape{count});
        const MessageInfo info = group.recv_into(out.view(), from);
        sending.wait();
        EXPECT_TRUE(same(out, due));
        EXPECT_EQ(info.bytes, due.bytes());
      }
    }
  });
}

TEST_P(Messages, SendrecvWithDifferentShapesEachWay) {
  run([&](const Group& group) {
    for (const std::int64_t count : counts) {
      const int peer = group.rank() ^ 1;
      if (peer >= group.size()) continue;
      SCOPED_TRACE(label(count));
      const auto shape_of = [&](int rank) { return rank % 2 == 0 ? Shape{count} : Shape{2, count + 1}; };
      const Tensor result =
          group.sendrecv(message(group.rank(), DType::float32, shape_of(group.rank())), shape_of(peer), peer);
      EXPECT_TRUE(same(result, message(peer, DType::float32, shape_of(peer))));
    }
  });
}

TEST_P(Messages, StridedOnBothSides) {
  run([&](const Group& group) {
    for (const Shape& shape : {Shape{3, 4}, Shape{100, 130}}) {
      for (const Lie from_lie : lies()) {
        for (const Lie to_lie : lies()) {
          SCOPED_TRACE(label(to_string(shape), static_cast<int>(from_lie), static_cast<int>(to_lie)));
          Strided mine(message(group.rank(), DType::int32, shape), from_lie);
          Strided out(DType::int32, shape, to_lie);
          group.sendrecv(mine.view(), next_of(group), out.view(), previous_of(group));
          EXPECT_TRUE(same_elements(out.view(), message(previous_of(group), DType::int32, shape)));
          EXPECT_TRUE(out.gaps_untouched());
        }
      }
    }
  });
}

TEST_P(Messages, MatchByTagAndInOrderPerTag) {
  run([&](const Group& group) {
    const int from = previous_of(group);
    const auto shape_of = [](int index) { return Shape{index % 3 == 2 ? 9'000 : index + 1}; };
    std::vector<Request> sends;
    std::vector<Tensor> kept;
    for (int index = 0; index < 9; ++index) {  // tags 0 1 2 0 1 2 0 1 2
      kept.push_back(message(group.rank(), DType::float32, shape_of(index), index_of(index)));
      sends.push_back(group.isend(kept.back(), next_of(group), {.tag = index % 3}));
    }
    for (const int tag : {2, 0, 1}) {
      for (int turn = 0; turn < 3; ++turn) {
        const int index = turn * 3 + tag;
        const Tensor got = group.recv<float>(shape_of(index), from, {.tag = tag});
        EXPECT_TRUE(same(got, message(from, DType::float32, shape_of(index), index_of(index))))
            << "tag " << tag << " turn " << turn;
      }
    }
    for (Request& send : sends) send.wait();
  });
}

TEST_P(Messages, AnyTagTakesThemInTheOrderSent) {
  run([&](const Group& group) {
    std::vector<Request> sends;
    for (const int tag : {4, 1, 4, 9, 0})
      sends.push_back(
          group.isend(message(group.rank(), DType::int64, {3}, index_of(tag)), next_of(group), {.tag = tag}));
    for (const int tag : {4, 1, 4, 9, 0}) {
      Tensor out = spoiled(DType::int64, Shape{3});
      const MessageInfo info = group.recv_into(out.view(), previous_of(group), {.tag = any_tag});
      EXPECT_EQ(info.tag, tag);
      EXPECT_TRUE(same(out, message(previous_of(group), DType::int64, {3}, index_of(tag))));
    }
    for (Request& send : sends) send.wait();
  });
}

TEST_P(Messages, AnySourceTakesEachOnce) {
  run([&](const Group& group) {
    for (const std::int64_t count : {std::int64_t{2}, std::int64_t{20'000}}) {
      SCOPED_TRACE(label(count));
      if (group.rank() != 0) {
        group.send(message(group.rank(), DType::float32, {count}), 0, {.tag = group.rank() % 2});
        group.barrier();
        continue;
      }
      std::vector<int> seen(ranks(), 0);
      for (int turn = 1; turn < group.size(); ++turn) {
        Tensor out = spoiled(DType::float32, Shape{count});
        const MessageInfo info = group.recv_into(out.view(), any_source, {.tag = any_tag});
        ASSERT_GT(info.source, 0);
        ASSERT_LT(info.source, group.size());
        ++seen[index_of(info.source)];
        EXPECT_EQ(info.tag, info.source % 2);
        EXPECT_TRUE(same(out, message(info.source, DType::float32, {count})));
      }
      EXPECT_TRUE(std::all_of(seen.begin() + 1, seen.end(), [](int times) { return times == 1; }));
      group.barrier();  // the next round's messages must not be among these
    }
  });
}

TEST_P(Messages, ProbeTellsAndDoesNotTake) {
  run([&](const Group& group) {
    for (const std::int64_t count : counts) {
      SCOPED_TRACE(label(count));
      EXPECT_FALSE(group.try_probe(previous_of(group), 3).has_value());
      group.barrier();
      const Tensor mine = message(group.rank(), DType::float32, {count, 1});
      Request sending = group.isend(mine, next_of(group), {.tag = 3});
      for (const int tag : {3, any_tag}) {
        const MessageInfo info = group.probe(previous_of(group), {.tag = tag});
        EXPECT_EQ(info.source, previous_of(group));
        EXPECT_EQ(info.tag, 3);
        EXPECT_EQ(info.dtype, DType::float32);
        EXPECT_EQ(info.shape, (Shape{count, 1}));
        EXPECT_EQ(info.bytes, mine.bytes());
      }
      EXPECT_EQ(group.probe(any_source, {.tag = 3}).source, previous_of(group));
      const auto seen = group.try_probe(previous_of(group), 3);
      ASSERT_TRUE(seen.has_value());
      EXPECT_EQ(seen->shape, (Shape{count, 1}));
      EXPECT_FALSE(group.try_probe(previous_of(group), 4).has_value());
      const Tensor got = group.recv<float>(seen->shape, seen->source, {.tag = seen->tag});
      EXPECT_TRUE(same(got, message(previous_of(group), DType::float32, {count, 1})));
      sending.wait();
      group.barrier();
    }
  });
}

TEST_P(Messages, ManyOutstandingWaitedForInAnyOrder) {
  run([&](const Group& group) {
    constexpr int many = 40;
    std::mt19937 random(static_cast<unsigned>(group.rank()));
    std::vector<Tensor> outs;
    std::vector<Request> requests;
    for (int index = 0; index < many; ++index) {
      outs.push_back(spoiled(DType::int32, Shape{index % 5 == 0 ? 9'000 : index}));
      requests.push_back(group.irecv(outs.back().view(), previous_of(group), {.tag = index % 2}));
    }
    for (int index = 0; index < many; ++index) {
      requests.push_back(
          group.isend(message(group.rank(), DType::int32, outs[index_of(index)].shape(), index_of(index)),
                      next_of(group), {.tag = index % 2}));
    }
    std::shuffle(requests.begin(), requests.end(), random);
    for (Request& request : requests) request.wait();
    for (int index = 0; index < many; ++index) {
      const Tensor& out = outs[index_of(index)];
      EXPECT_TRUE(same(out, message(previous_of(group), DType::int32, out.shape(), index_of(index))))
          << index;
    }
  });
}

TEST_P(Messages, OrderOfABatchDoesNotMatter) {
  run([&](const Group& group) {
    std::mt19937 random(static_cast<unsigned>(17 + group.rank()));
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(label("round", round));
      std::vector<Message> messages;
      std::vector<Tensor> sent;
      std::vector<Tensor> outs;
      const auto shape_of = [](int from, int to, int tag) {
        return Shape{(from * 7 + to * 3 + tag) % 4 == 0 ? 10'000 + from : from + 2 * to + tag};
      };
      std::vector<Tensor> due;
      for (int peer = 0; peer < group.size(); ++peer) {
        if (peer == group.rank()) continue;
        for (int tag = 0; tag < 2; ++tag) {
          sent.push_back(
              message(group.rank(), DType::float32, shape_of(group.rank(), peer, tag), index_of(tag)));
          messages.emplace_back(Send{sent.back(), peer, tag});
          due.push_back(message(peer, DType::float32, shape_of(peer, group.rank(), tag), index_of(tag)));
          outs.push_back(spoiled(DType::float32, due.back().shape()));
          messages.emplace_back(Recv{outs.back().view(), peer, tag});
        }
      }
      std::shuffle(messages.begin(), messages.end(), random);
      group.batch(messages);
      for (std::size_t i = 0; i < outs.size(); ++i) EXPECT_TRUE(same(outs[i], due[i]));
    }
  });
}

TEST_P(Messages, SmallAndLargeOfOneTagKeepTheirOrder) {
  run([&](const Group& group) {
    std::vector<Request> sends;
    for (std::size_t index = 0; index < counts.size(); ++index)
      sends.push_back(
          group.isend(message(group.rank(), DType::float32, {counts[index]}, index), next_of(group)));
    for (std::size_t index = 0; index < counts.size(); ++index) {
      const Tensor got = group.recv<float>({counts[index]}, previous_of(group));
      EXPECT_TRUE(same(got, message(previous_of(group), DType::float32, {counts[index]}, index)));
    }
    for (Request& send : sends) send.wait();
  });
}

TEST_P(Messages, AskingWhetherARequestIsDoneGetsItDone) {
  run([&](const Group& group) {
    for (const std::int64_t count : {std::int64_t{3}, std::int64_t{50'000}}) {
      SCOPED_TRACE(label(count));
      Tensor out = spoiled(DType::float32, Shape{count});
      Request receiving = group.irecv(out.view(), previous_of(group));
      Request sending = group.isend(message(group.rank(), DType::float32, {count}), next_of(group));
      while (!receiving.test() || !sending.test()) continue;
      receiving.wait();
      sending.wait();
      EXPECT_TRUE(same(out, message(previous_of(group), DType::float32, {count})));
    }
  });
}

// The sender waits for its receiver, who waits in a collective, which waits for the sender.
TEST_P(Messages, AMessageMovesWhileItsReceiverIsInACollective) {
  run([&](const Group& group) {
    constexpr std::int64_t count =
        700'001;  // several rings, and several pieces where memory is read in place
    const int last = group.size() - 1;
    Tensor out = spoiled(DType::float32, Shape{count});
    if (group.rank() == last) {
      Request receiving = group.irecv(out.view(), 0);
      group.barrier();
      receiving.wait();
      EXPECT_TRUE(same(out, message(0, DType::float32, {count})));
      return;
    }
    if (group.rank() == 0) group.send(message(0, DType::float32, {count}), last);
    group.barrier();
  });
}

TEST_P(Messages, ARequestTakenBackLeavesTheRestInOrder) {
  run([&](const Group& group) {
    const Tensor untouched = spoiled(DType::float32, Shape{7});
    Tensor first = untouched.clone();
    Request receiving = group.irecv(first.view(), previous_of(group), {.tag = 1});
    receiving.cancel();
    group.barrier();
    Request small = group.isend(message(group.rank(), DType::float32, {7}), next_of(group), {.tag = 1});
    EXPECT_TRUE(same(group.recv<float>({7}, previous_of(group), {.tag = 1}),
                     message(previous_of(group), DType::float32, {7})));
    small.wait();
    EXPECT_TRUE(same(first, untouched));

    {  // a large send, taken back before its answer can have been seen
      Request sending =
          group.isend(message(group.rank(), DType::float32, {50'000}, 1), next_of(group), {.tag = 2});
      sending.cancel();
    }
    Request last =
        group.isend(message(group.rank(), DType::float32, {50'000}, 2), next_of(group), {.tag = 2});
    Tensor got = group.recv<float>({50'000}, previous_of(group), {.tag = 2});
    // Where the receiver reads the memory of the sender it may have been faster than the cancellation.
    if (group.backend() == Backend::shm &&
        same(got, message(previous_of(group), DType::float32, {50'000}, 1))) {
      got = group.recv<float>({50'000}, previous_of(group), {.tag = 2});
    }
    EXPECT_TRUE(same(got, message(previous_of(group), DType::float32, {50'000}, 2)));
    last.wait();
    group.barrier();
  });
}

TEST_P(Messages, ADroppedRequestIsFinished) {
  run([&](const Group& group) {
    Tensor out = spoiled(DType::float32, Shape{30'000});
    {
      const Request sending = group.isend(message(group.rank(), DType::float32, {30'000}), next_of(group));
      const Request receiving = group.irecv(out.view(), previous_of(group));
    }
    EXPECT_TRUE(same(out, message(previous_of(group), DType::float32, {30'000})));
  });
}

TEST_P(Messages, MessagesAndCollectivesDoNotWaitForEachOther) {
  run([&](const Group& group) {
    for (const std::int64_t count : counts) {
      SCOPED_TRACE(label(count));
      const Tensor mine = message(group.rank(), DType::int32, {count});
      Request sending = group.isend(mine, next_of(group));
      EXPECT_TRUE(same(group.all_sum(Tensor::of<std::int32_t>({group.rank() + 1})),
                       Tensor::of<std::int32_t>({group.size() * (group.size() + 1) / 2})));
      EXPECT_TRUE(same(group.recv<std::int32_t>({count}, previous_of(group)),
                       message(previous_of(group), DType::int32, {count})));
      sending.wait();
    }
  });
}

}  // namespace
}  // namespace rondo::test
