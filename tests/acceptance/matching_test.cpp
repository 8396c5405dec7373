// Rows A14 to A21 of the acceptance list: both ways, tags, worlds, limits, views.

#include <atomic>
#include <thread>

#include "acceptance/support.hpp"

namespace rondo::test {
namespace {

constexpr auto invalid = ErrorKind::invalid_argument;

TEST(Acceptance, A14_SendrecvBothWaysWithDifferentShapes) {
  everywhere(2, [](const Group& group) {
    const int peer = 1 - group.rank();
    const auto shape_of = [](int rank) { return rank == 0 ? Shape{2, 3} : Shape{400'000}; };
    const Tensor got =
        group.sendrecv(values(DType::float32, shape_of(group.rank()), group.rank()), shape_of(peer), peer);
    EXPECT_TRUE(same(got, values(DType::float32, shape_of(peer), peer)));
    const Tensor data = Tensor::of<float>({1});
    expect_error(invalid, {"sendrecv: peer 2 >= world_size 2"}, [&] { (void)group.sendrecv(data, {1}, 2); });
    expect_error(invalid, {"sendrecv: peer equals self rank"},
                 [&] { (void)group.sendrecv(data, {1}, group.rank()); });
    expect_error(invalid, {"sendrecv: peer -1 is negative"}, [&] { (void)group.sendrecv(data, {1}, -1); });
    user_code(group);
  });
}

TEST(Acceptance, A15_RingShiftAndBatchesInAnyOrder) {
  everywhere(4, [](const Group& group) {
    const int to = (group.rank() + 1) % 4;
    const int from = (group.rank() + 3) % 4;
    for (const std::int64_t count : {std::int64_t{3}, std::int64_t{100'000}}) {
      const Tensor mine = values(DType::float32, Shape{count}, group.rank());
      Tensor out(DType::float32, {count});
      group.sendrecv(mine, to, out.view(), from);
      EXPECT_TRUE(same(out, values(DType::float32, Shape{count}, from)));
      for (const bool send_first : {true, false}) {
        Tensor again(DType::float32, {count});
        std::vector<Message> messages = {Send{mine, to}, Recv{again.view(), from}};
        if (!send_first) std::swap(messages[0], messages[1]);
        group.batch(messages);
        EXPECT_TRUE(same(again, out));
        Tensor once_more(DType::float32, {count});
        std::vector<Request> requests;
        if (send_first) requests.push_back(group.isend(mine, to));
        requests.push_back(group.irecv(once_more.view(), from));
        if (!send_first) requests.push_back(group.isend(mine, to));
        while (!requests.empty()) {
          requests.back().wait();
          requests.pop_back();
        }
        EXPECT_TRUE(same(once_more, out));
      }
    }
  });
}

TEST(Acceptance, A16_TagsAnySourceAnyTagAndProbe) {
  everywhere(3, [](const Group& group) {
    if (group.rank() > 0) {
      for (const int tag : {1, 0, 1})
        group.send(Tensor::of<std::int32_t>({group.rank() * 10 + tag}), 0, {.tag = tag});
      group.send(Tensor::of<std::int32_t>({group.rank() * 100}), 0, {.tag = 1});
      return;
    }
    const auto take = [&](int from, int tag) {
      std::array<std::int32_t, 1> out = {-1};
      const MessageInfo info = group.recv_into(out, from, {.tag = tag});
      if (from != any_source) {
        EXPECT_EQ(info.source, from);
      }
      if (tag != any_tag) {
        EXPECT_EQ(info.tag, tag);
      }
      return out[0];
    };
    EXPECT_EQ(take(2, 0), 20);
    EXPECT_EQ(take(2, 1), 21);
    const MessageInfo seen = group.probe(2, {.tag = any_tag});
    EXPECT_EQ(seen.tag, 1);
    EXPECT_EQ(seen.source, 2);
    EXPECT_EQ(seen.bytes, 4U);
    EXPECT_EQ(take(2, any_tag), 21);
    EXPECT_EQ(take(1, any_tag), 11);
    EXPECT_EQ(take(any_source, 0), 10);
    EXPECT_EQ(take(1, 1), 11);
    std::int32_t rest = take(any_source, any_tag);
    rest += take(any_source, any_tag);
    EXPECT_EQ(rest, 300);
    EXPECT_FALSE(group.try_probe(any_source, any_tag).has_value());
  });
}

TEST(Acceptance, A17_MessagesOnAGroupOfOneAreRefused) {
  for (const Group& group : {init(), one(), init(true, Backend::sim)}) {
    Tensor out(DType::float32, {1});
    const Tensor data = Tensor::of<float>({1});
    EXPECT_EQ(group.size(), 1);
    for (const int peer : {0, 1}) {
      SCOPED_TRACE(label("peer", peer));
      expect_error(invalid, {"send"}, [&] { group.send(data, peer); });
      expect_error(invalid, {"recv"}, [&] { (void)group.recv<float>({1}, peer); });
      expect_error(invalid, {"recv_into"}, [&] { group.recv_into(out.view(), peer); });
      expect_error(invalid, {"sendrecv"}, [&] { (void)group.sendrecv(data, {1}, peer); });
      expect_error(invalid, {}, [&] { (void)group.sendrecv(data, peer, out.view(), peer); });
      expect_error(invalid, {}, [&] { group.isend(data, peer).wait(); });
      expect_error(invalid, {}, [&] { group.irecv(out.view(), peer).wait(); });
      expect_error(invalid, {}, [&] { group.batch({Send{data, peer}}); });
      expect_error(invalid, {}, [&] { (void)group.probe(peer); });
      expect_error(invalid, {}, [&] { (void)group.try_probe(peer); });
    }
    expect_error(invalid, {}, [&] { group.recv_into(out.view(), any_source); });
    expect_error(invalid, {}, [&] { (void)group.probe(any_source); });
  }
}

TEST(Acceptance, A18_SimGroupHandlesMoveBetweenThreads) {
  std::vector<Group> groups = sim_group(3);
  ASSERT_EQ(groups.size(), 3U);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(groups[static_cast<std::size_t>(rank)].rank(), rank);
    EXPECT_EQ(groups[static_cast<std::size_t>(rank)].size(), 3);
    EXPECT_EQ(groups[static_cast<std::size_t>(rank)].backend(), Backend::sim);
    EXPECT_EQ(groups[static_cast<std::size_t>(rank)].local_rank(), rank);
    EXPECT_EQ(groups[static_cast<std::size_t>(rank)].local_size(), 3);
  }
  for (int turn = 0; turn < 3; ++turn) {  // every turn on other threads
    std::vector<std::jthread> threads;
    for (const Group& group : groups) threads.emplace_back([&group] { user_code(group); });
  }
}

TEST(Acceptance, A18_SimRunFindsADeadlockAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  std::array<std::optional<Error>, 2> errors;
  in_sim(2, [&](const Group& group) {
    errors[static_cast<std::size_t>(group.rank())] =
        error_of([&] { (void)group.recv<float>({1}, 1 - group.rank()); });
    group.barrier();
  });
  for (const auto& error : errors) {
    expect_is(error, ErrorKind::timed_out, {"recv"});
    if (error) {
      EXPECT_EQ(milliseconds(error->elapsed()), 60'000) << "of virtual time";
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s) << "of real time";
}

TEST(Acceptance, A19_ATimeoutTellsOperationPeerLimitAndElapsedTime) {
  in_sim(3, [](const Group& group) {
    if (group.rank() != 0) {
      let_pass(group, 10s);
      return;
    }
    const auto error = error_of([&] { (void)group.recv<float>({1}, 2, {.timeout = 150ms}); });
    expect_is(error, ErrorKind::timed_out, {"recv", "rank 2", "150 ms"});
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->operation(), "recv");
    EXPECT_EQ(error->rank(), 0);
    EXPECT_EQ(error->peer(), 2);
    EXPECT_EQ(milliseconds(error->elapsed()), 150);
    const Tensor large(DType::uint8, {1'000'000});
    const auto send = error_of([&] { group.send(large, 1, {.timeout = 320ms}); });
    expect_is(send, ErrorKind::timed_out, {"send", "rank 1", "320 ms"});
    ASSERT_TRUE(send.has_value());
    EXPECT_EQ(send->operation(), "send");
    EXPECT_EQ(send->peer(), 1);
  });
}

TEST(Acceptance, A19_AThousandTimedOutWaitsEachFollowedByARightOne) {
  in_sim(2, [](const Group& group) {
    for (std::int32_t round = 0; round < 1000; ++round) {
      const std::int64_t count = round % 10 == 9 ? 20'000 : 2;
      if (group.rank() == 0) {
        expect_is(error_of([&] { (void)group.recv<std::int32_t>({count}, 1, {.timeout = 1ms}); }),
                  ErrorKind::timed_out);
        group.send(Tensor::of<std::int32_t>({round}), 1, {.tag = 1});
        EXPECT_TRUE(same(group.recv<std::int32_t>({count}, 1), values(DType::int32, Shape{count}, round)));
      } else {
        EXPECT_EQ(group.recv<std::int32_t>({1}, 0, {.tag = 1}).span<std::int32_t>()[0], round);
        group.send(values(DType::int32, Shape{count}, round), 0);
      }
    }
  });
}

TEST(Acceptance, A19_AThousandTimedOutSendsEachFollowedByARightOne) {
  in_sim(2, [](const Group& group) {
    const std::int64_t count = 20'000;
    for (std::int32_t round = 0; round < 1000; ++round) {
      if (group.rank() == 0) {
        expect_is(error_of([&] { group.send(values(DType::int32, Shape{count}, -1), 1, {.timeout = 1ms}); }),
                  ErrorKind::timed_out);
        group.send(Tensor::of<std::int32_t>({round}), 1, {.tag = 1});
        group.send(values(DType::int32, Shape{count}, round), 1);
      } else {
        EXPECT_EQ(group.recv<std::int32_t>({1}, 0, {.tag = 1}).span<std::int32_t>()[0], round);
        EXPECT_TRUE(same(group.recv<std::int32_t>({count}, 0), values(DType::int32, Shape{count}, round)));
      }
    }
  });
}

TEST(Acceptance, A19_ACollectiveThatTimedOutEndsTheGroup) {
  in_sim(3, [](const Group& group) {
    if (group.rank() == 2) {
      let_pass(group, 5s);
      expect_is(error_of([&] { group.barrier(); }), ErrorKind::timed_out);
      return;
    }
    const auto first = error_of([&] { (void)group.all_sum(Tensor::of<float>({1}), {.timeout = 100ms}); });
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->kind(), ErrorKind::timed_out) << first->what();
    ASSERT_TRUE(group.failure().has_value());
    EXPECT_EQ(group.failure()->kind, ErrorKind::timed_out);
    expect_is(error_of([&] { group.barrier(); }), ErrorKind::timed_out);
    expect_is(error_of([&] { group.send(Tensor::of<float>({1}), 2); }), ErrorKind::timed_out);
  });
}

TEST(Acceptance, A20_WorkedExamples) {
  for (const World& world : worlds()) {
    world.run(2, [](const Group& group) {
      const int peer = 1 - group.rank();
      if (group.rank() == 0) {
        group.send(Tensor(std::vector<float>{1, 2, 3, 4}, {2, 2}), 1);
        group.send(Tensor::of<float>({10, 20, 30}), 1);
      } else {
        EXPECT_TRUE(same(group.recv<float>({2, 2}, 0), Tensor(std::vector<float>{1, 2, 3, 4}, {2, 2})));
        Tensor out(DType::float32, {3});
        EXPECT_TRUE(same(out, Tensor::of<float>({0, 0, 0})));
        group.recv_into(out.view(), 0);
        EXPECT_TRUE(same(out, Tensor::of<float>({10, 20, 30})));
      }
      const Tensor low = Tensor::of<float>({1, 2});
      const Tensor high = Tensor::of<float>({100, 200});
      EXPECT_TRUE(
          same(group.sendrecv(group.rank() == 0 ? low : high, {2}, peer), group.rank() == 0 ? high : low));
      expect_error(invalid, {"recv: src_rank 5 >= world_size 2"}, [&] { (void)group.recv<float>({1}, 5); });
    });
  }
  expect_error(invalid, {"send: dst_rank equals self rank"}, [] { one().send(Tensor::of<float>({1}), 0); });
}

TEST(Acceptance, A21_ViewsTravelInLogicalOrderAndAreReceivedInPlace) {
  everywhere(2, [](const Group& group) {
    std::vector<std::int32_t> matrix(12);  // 3 rows of 4
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<std::int32_t>(i);
    const ConstView column(matrix.data() + 1, {3}, {4});
    const ConstView second(matrix.data(), {6}, {2});
    const ConstView transpose(matrix.data(), {4, 3}, {1, 4});
    if (group.rank() == 0) {
      group.send(column, 1);
      group.send(second, 1);
      group.send(transpose, 1);
      group.send(Tensor::of<std::int32_t>({-1, -2, -3}), 1);
      group.send(transpose, 1);
      return;
    }
    EXPECT_TRUE(same(group.recv<std::int32_t>({3}, 0), Tensor::of<std::int32_t>({1, 5, 9})));
    EXPECT_TRUE(same(group.recv<std::int32_t>({6}, 0), Tensor::of<std::int32_t>({0, 2, 4, 6, 8, 10})));
    EXPECT_TRUE(same_elements(group.recv<std::int32_t>({4, 3}, 0),
                              Tensor::of<std::int32_t>({0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11})));
    group.recv_into(View(matrix.data() + 2, {3}, {4}), 0);
    EXPECT_EQ(matrix, (std::vector<std::int32_t>{0, 1, -1, 3, 4, 5, -2, 7, 8, 9, -3, 11}));
    std::vector<std::int32_t> other(12, 0);
    group.recv_into(View(other.data(), {4, 3}, {1, 4}), 0);  // into a transpose: the rows come out again
    EXPECT_EQ(other, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  });
}

}  // namespace
}  // namespace rondo::test
