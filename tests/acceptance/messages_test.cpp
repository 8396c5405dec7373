// Rows A01 to A13 of the acceptance list: typed messages.

#include "acceptance/support.hpp"

#include <atomic>
#include <limits>
#include <thread>

namespace rondo::test {
namespace {

constexpr auto invalid = ErrorKind::invalid_argument;

TEST(Acceptance, A01_TypesShapesAndElementsAreKnownAtTheCall) {
  static_assert(Element<bool> && Element<std::int8_t> && Element<std::uint64_t> && Element<float16> &&
                Element<bfloat16> && Element<float> && Element<double> && Element<std::complex<float>> &&
                Element<std::complex<double>> && Element<float8_e4m3> && Element<float8_e5m2>);
  static_assert(!Element<char*> && !Element<std::string> && !Element<void*>);
  everywhere(2, [](const Group& group) {
    for (const DType dtype : dtypes()) {
      SCOPED_TRACE(label(dtype));
      visit_dtype(dtype, [&](auto typed) {
        using T = decltype(typed);
        const Tensor due = values(dtype, Shape{2, 3}, 0);
        if (group.rank() == 0) {
          group.send(due, 1);
        } else {
          const Tensor got = group.recv<T>({2, 3}, 0);
          EXPECT_EQ(got.dtype(), dtype);
          EXPECT_EQ(got.span<T>().size(), 6U);
          EXPECT_TRUE(same(got, due));
        }
      });
    }
  });
  expect_error(invalid, {}, [] { (void)Tensor::of<float>({1, 2}).span<double>(); });
}

TEST(Acceptance, A02_WorksOverAnyGroup) {
  user_code(init());
  user_code(one());
  for (const World& world : worlds()) {
    for (const int size : {1, 2, 3}) world.run(size, user_code);
  }
}

TEST(Acceptance, A03_DefaultLimitOfSixtySecondsSettablePerGroupAndPerCall) {
  EXPECT_EQ(Config().timeout, 60s);
  EXPECT_EQ(one().timeout(), 60s);
  EXPECT_EQ(init().timeout(), 60s);
  Group group = sim_group(2).front();
  EXPECT_EQ(group.timeout(), 60s);
  group.set_timeout(5s);
  EXPECT_EQ(group.timeout(), 5s);
  Config config;
  config.timeout = 3s;
  EXPECT_EQ(sim_group(2, config).front().timeout(), 3s);

  in_sim(2, [](Group ours) {
    if (ours.rank() == 1) {
      let_pass(ours, 200s);
      return;
    }
    const auto limit_of = [&](const std::function<void()>& call) {
      const auto error = error_of(call);
      expect_is(error, ErrorKind::timed_out);
      return error ? milliseconds(error->elapsed()) : -1;
    };
    const Tensor large(DType::float32, {1'000'000});
    EXPECT_EQ(limit_of([&] { (void)ours.recv<float>({1}, 1); }), 60'000) << "default, receive";
    EXPECT_EQ(limit_of([&] { ours.send(large, 1); }), 60'000) << "default, send";
    ours.set_timeout(7s);
    EXPECT_EQ(limit_of([&] { (void)ours.recv<float>({1}, 1); }), 7'000) << "of the group, receive";
    EXPECT_EQ(limit_of([&] { ours.send(large, 1); }), 7'000) << "of the group, send";
    EXPECT_EQ(limit_of([&] { (void)ours.recv<float>({1}, 1, {.timeout = 250ms}); }), 250) << "of the call";
    EXPECT_EQ(limit_of([&] { ours.send(large, 1, {.timeout = 250ms}); }), 250) << "of the call";
  });
}

TEST(Acceptance, A03_TheLimitIsOneForTheWholeCall) {
  in_sim(2, [](const Group& group) {
    constexpr int parts = 10;
    if (group.rank() == 1) {  // trickles: one message each 100 ms, a second in all
      for (int part = 0; part < parts; ++part) {
        let_pass(group, 100ms);
        group.send(Tensor::of<std::int32_t>({part}), 0, {.tag = part});
      }
      return;
    }
    std::vector<Tensor> outs(parts, Tensor(DType::int32, {1}));
    std::vector<Message> messages;
    for (int part = 0; part < parts; ++part) {
      outs[static_cast<std::size_t>(part)] = Tensor(DType::int32, {1});
      messages.emplace_back(Recv{outs[static_cast<std::size_t>(part)].view(), 1, part});
    }
    const auto error = error_of([&] { group.batch(messages, {.timeout = 350ms}); });
    expect_is(error, ErrorKind::timed_out);
    if (error) {
      EXPECT_EQ(milliseconds(error->elapsed()), 350);
    }
    for (std::size_t part = 0; part < 3; ++part)
      EXPECT_EQ(outs[part].span<std::int32_t>()[0], static_cast<std::int32_t>(part));
    for (int part = 3; part < parts; ++part)
      EXPECT_EQ(group.recv<std::int32_t>({1}, 1, {.tag = part}).span<std::int32_t>()[0], part);
  });
}

TEST(Acceptance, A04_SendReturnsWhenTheBufferMayBeReused) {
  everywhere(2, [](const Group& group) {
    for (const std::int64_t count : {std::int64_t{8}, std::int64_t{300'000}}) {
      const Tensor due = values(DType::int32, Shape{count}, 7);
      if (group.rank() == 0) {
        Tensor buffer = due.clone();
        group.send(buffer, 1);
        EXPECT_TRUE(same(buffer, due)) << "the tensor was changed";
        std::ranges::fill(buffer.span<std::int32_t>(), -1);
        group.barrier();
      } else {
        if (count == 8) group.barrier();  // a small one has left long before it is asked for
        EXPECT_TRUE(same(group.recv<std::int32_t>({count}, 0), due));
        if (count != 8) group.barrier();
      }
    }
  });
}

TEST(Acceptance, A05_SendToARankThatIsNotThere) {
  everywhere(2, [](const Group& group) {
    const Tensor data = Tensor::of<float>({1});
    expect_error(invalid, {"send: dst_rank 2 >= world_size 2"}, [&] { group.send(data, 2); });
    expect_error(invalid, {"send: dst_rank 9 >= world_size 2"}, [&] { group.send(data, 9); });
    expect_error(invalid, {"send: dst_rank -1 is negative"}, [&] { group.send(data, -1); });
    expect_error(invalid, {"send: dst_rank 5 >= world_size 2"}, [&] { group.isend(data, 5).wait(); });
    user_code(group);
  });
  expect_error(invalid, {"send: dst_rank 1 >= world_size 1"}, [] { one().send(Tensor::of<float>({1}), 1); });
}

TEST(Acceptance, A06_SendToOneself) {
  everywhere(2, [](const Group& group) {
    expect_error(invalid, {"send: dst_rank equals self rank — use a tensor copy instead"},
                 [&] { group.send(Tensor::of<float>({1}), group.rank()); });
    user_code(group);
  });
}

TEST(Acceptance, A07_ChecksRunBeforeDataIsTouched) {
  everywhere(2, [](const Group& group) {
    const ConstView nowhere(DType::float32, reinterpret_cast<const void*>(16), std::size_t{1'000'000});
    const View there(DType::float32, reinterpret_cast<void*>(16), std::size_t{1'000'000});
    expect_error(invalid, {"send: dst_rank 2 >= world_size 2"}, [&] { group.send(nowhere, 2); });
    expect_error(invalid, {"send: dst_rank equals self rank"}, [&] { group.send(nowhere, group.rank()); });
    expect_error(invalid, {"recv_into: src_rank 2 >= world_size 2"},
                 [&] { (void)group.recv_into(there, 2); });
    expect_error(invalid, {"recv_into: src_rank equals self rank"},
                 [&] { (void)group.recv_into(there, group.rank()); });
    user_code(group);
  });
}

TEST(Acceptance, A08_RecvGivesAFreshTensorOfThatShape) {
  everywhere(2, [](const Group& group) {
    for (const Shape& shape :
         {Shape{2, 2}, Shape{}, Shape{0}, Shape{0, 3}, Shape{3, 0, 2}, Shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
      SCOPED_TRACE(to_string(shape));
      const Tensor due = values(DType::float64, shape, 0);
      if (group.rank() == 0) {
        group.send(due, 1);
      } else {
        const Tensor got = group.recv<double>(shape, 0);
        EXPECT_TRUE(same(got, due));
        EXPECT_EQ(got.shape(), shape);
      }
    }
  });
}

TEST(Acceptance, A09_SizesAreComputedWithChecks) {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(element_count(Shape{huge, 4}), std::size_t{1} << 42U);
  EXPECT_EQ(byte_size(DType::float64, Shape{huge, 4}), std::size_t{1} << 45U);
  EXPECT_EQ(element_count(Shape{}), 1U);
  expect_error(invalid, {}, [] { (void)element_count(Shape{huge, huge}); });
  expect_error(invalid, {}, [] { (void)byte_size(DType::complex128, Shape{huge, std::int64_t{1} << 20}); });
  expect_error(invalid, {}, [] { (void)element_count(Shape{2, -1}); });
  expect_error(invalid, {}, [] { (void)element_count(Shape(9, 1)); });
  expect_error(invalid, {}, [] { (void)Tensor(DType::complex128, {huge, huge}); });
  everywhere(2, [](const Group& group) {
    const int peer = 1 - group.rank();
    expect_error(invalid, {}, [&] { (void)group.recv<double>({huge, huge}, peer); });
    expect_error(invalid, {}, [&] { (void)group.recv<double>({-1}, peer); });
    expect_error(invalid, {}, [&] { (void)group.sendrecv(Tensor::of<float>({1}), {huge, huge}, peer); });
    user_code(group);
  });
}

TEST(Acceptance, A10_RecvFromARankThatIsNotThere) {
  everywhere(2, [](const Group& group) {
    expect_error(invalid, {"recv: src_rank 2 >= world_size 2"}, [&] { (void)group.recv<float>({1}, 2); });
    expect_error(invalid, {"recv: src_rank equals self rank"},
                 [&] { (void)group.recv<float>({1}, group.rank()); });
    expect_error(invalid, {"recv: src_rank -2 is negative"}, [&] { (void)group.recv<float>({1}, -2); });
    user_code(group);
  });
}

TEST(Acceptance, A11_RecvIntoReceivesInPlace) {
  everywhere(2, [](const Group& group) {
    if (group.rank() == 0) {
      group.send(Tensor(std::vector<float>{1, 2, 3, 4}, {2, 2}), 1);
      group.send(values(DType::float32, Shape{300, 300}, 0), 1, {.tag = 2});
      return;
    }
    std::vector<float> memory(6, -1);
    const View out(memory.data() + 1, {2, 2});
    const MessageInfo info = group.recv_into(out, 0);
    EXPECT_EQ(memory, (std::vector<float>{-1, 1, 2, 3, 4, -1}));
    EXPECT_EQ(info.shape, (Shape{2, 2}));
    EXPECT_EQ(info.bytes, 16U);
    Tensor large(DType::float32, {300, 300});
    group.recv_into(large.view(), 0, {.tag = 2});
    EXPECT_TRUE(same(large, values(DType::float32, Shape{300, 300}, 0)));
  });
}

TEST(Acceptance, A12_RecvIntoHasTheChecksOfRecv) {
  everywhere(2, [](const Group& group) {
    Tensor out = Tensor::of<float>({5});
    expect_error(invalid, {"recv_into: src_rank 3 >= world_size 2"}, [&] { group.recv_into(out.view(), 3); });
    expect_error(invalid, {"recv_into: src_rank equals self rank"},
                 [&] { group.recv_into(out.view(), group.rank()); });
    expect_error(invalid, {"recv_into: src_rank -7 is negative"}, [&] { group.recv_into(out.view(), -7); });
    EXPECT_EQ(out.span<float>()[0], 5.0F);
  });
}

/// What a sender and a receiver that disagree see. The sender of an eager message has returned by then.
struct Disagreement {
  DType sent_type;
  Shape sent;
  DType asked_type;
  Shape asked;
  std::vector<std::string_view> said;
};

void check_disagreement(const Group& group, const Disagreement& one) {
  SCOPED_TRACE(label(one.sent_type, to_string(one.sent), "for", one.asked_type, to_string(one.asked)));
  const auto said = [&](const std::optional<Error>& error) {
    expect_is(error, ErrorKind::mismatch);
    if (!error) return;
    for (const std::string_view part : one.said)
      EXPECT_NE(std::string_view(error->what()).find(part), std::string_view::npos)
          << "\"" << part << "\" is not in \"" << error->what() << "\"";
  };
  if (group.rank() == 1) {
    Tensor out = values(one.asked_type, one.asked, 55);
    const Tensor before = out.clone();
    said(error_of([&] { group.recv_into(out.view(), 0, {.tag = 1}); }));
    EXPECT_TRUE(same(out, before)) << "out was touched";
    group.send(Tensor::of<std::int32_t>({77}), 0, {.tag = 2});
    EXPECT_TRUE(same(group.recv<std::int32_t>({1}, 0, {.tag = 3}), Tensor::of<std::int32_t>({88})));
    return;
  }
  int times = 0;
  const auto counted = [&](const std::function<void()>& call) {
    const auto error = error_of(call);
    if (!error) return false;
    ++times;
    said(error);
    return true;
  };
  counted([&] { group.send(values(one.sent_type, one.sent, 0), 1, {.tag = 1}); });
  // The refusal of what had been sent is heard in the next call, or, when that one was already served, in the
  // one after it.
  Tensor got;
  const auto receive = [&] { got = group.recv<std::int32_t>({1}, 1, {.tag = 2}); };
  if (counted(receive)) receive();
  EXPECT_TRUE(same(got, Tensor::of<std::int32_t>({77})));
  const auto send = [&] { group.send(Tensor::of<std::int32_t>({88}), 1, {.tag = 3}); };
  if (counted(send)) send();
  EXPECT_EQ(times, 1) << "the sender hears of it once";
}

TEST(Acceptance, A13_DisagreementsOfMessagesAreMismatchesOnBothSides) {
  const std::vector<Disagreement> all = {
      {DType::float32, {3}, DType::float32, {4}, {"3", "4"}},
      {DType::float32, {5}, DType::float32, {4}, {"5", "4"}},
      {DType::float32, {4}, DType::int32, {4}, {"float32", "int32"}},
      {DType::float32, {2, 3}, DType::float32, {3, 2}, {"[2, 3]", "[3, 2]"}},
      {DType::float32, {6}, DType::float32, {1, 6}, {"[6]", "[1, 6]"}},
      {DType::uint8, {0}, DType::uint8, {2}, {"[0]", "[2]"}},
      {DType::float64, {100'000}, DType::float64, {100'001}, {"100000", "100001"}},
      {DType::int16,
       {1, 2, 1, 2, 1, 2, 1, 2},
       DType::int16,
       {2, 1, 2, 1, 2, 1, 2, 1},
       {"[1, 2, 1", "[2, 1, 2"}},
  };
  everywhere(2, [&](const Group& group) {
    for (const Disagreement& one : all) {
      check_disagreement(group, one);
      user_code(group);
    }
  });
}

}  // namespace
}  // namespace rondo::test
