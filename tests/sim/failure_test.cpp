// What ends a group, and how everybody hears of it; limits, in virtual time.

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/reference.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace rondo::test {
namespace {

using namespace std::chrono_literals;
using Counts = std::vector<std::size_t>;

constexpr std::int64_t big = 1'000'000;  // elements: above every eager size

Tensor floats(std::int64_t count, int rank = 0) {
  return values(DType::float32, Shape{count}, rank, Content::sums);
}

/// Lets virtual time pass: waits for a message that nobody sends, or for the end of the group.
void stay_away(const Group& group, Duration span) {
  (void)error_of([&] { (void)group.probe(group.rank() == 0 ? 1 : 0, {.tag = 987'654, .timeout = span}); });
}

struct Operation {
  const char* name;
  std::function<void(const Group&)> call;
};

/// Every call that can wait, as rank 0 of 3 makes it when the others do not come. Where a rank that only
/// sends may return (a broadcast's root), it is not the root.
std::vector<Operation> waiting_operations() {
  static const Counts three = {1, 1, 1};
  return {
      {"recv", [](const Group& g) { (void)g.recv<float>({3}, 1); }},
      {"recv_into",
       [](const Group& g) {
         Tensor out(DType::float32, {3});
         g.recv_into(out.view(), any_source);
       }},
      {"send", [](const Group& g) { g.send(floats(big), 2); }},
      {"sendrecv", [](const Group& g) { (void)g.sendrecv(floats(3), {3}, 1); }},
      {"ring shift",
       [](const Group& g) {
         Tensor out(DType::float32, {3});
         g.sendrecv(floats(big), 1, out.view(), 2);
       }},
      {"probe", [](const Group& g) { (void)g.probe(2); }},
      {"isend", [](const Group& g) { g.isend(floats(big), 1).wait(); }},
      {"irecv",
       [](const Group& g) {
         Tensor out(DType::float32, {3});
         g.irecv(out.view(), 1).wait();
       }},
      {"batch",
       [](const Group& g) {
         Tensor out(DType::float32, {3});
         g.batch({Recv{out.view(), 1}});
       }},
      {"all_reduce", [](const Group& g) { (void)g.all_sum(floats(3)); }},
      {"large all_reduce", [](const Group& g) { (void)g.all_sum(floats(big)); }},
      {"all_gather", [](const Group& g) { (void)g.all_gather(floats(3)); }},
      {"all_gather_v", [](const Group& g) { (void)g.all_gather_v(floats(1), three); }},
      {"reduce_scatter", [](const Group& g) { (void)g.sum_scatter(floats(3)); }},
      {"reduce_scatter_v", [](const Group& g) { (void)g.sum_scatter_v(floats(3), three); }},
      {"broadcast", [](const Group& g) { (void)g.broadcast(floats(3), 1); }},
      {"broadcast_bytes", [](const Group& g) { (void)g.broadcast_bytes("", 1); }},
      {"reduce", [](const Group& g) { (void)g.reduce(floats(3), ReduceOp::sum, 0); }},
      {"gather", [](const Group& g) { (void)g.gather(floats(3), 0); }},
      {"gather_v", [](const Group& g) { (void)g.gather_v(floats(1), three, 0); }},
      {"scatter",
       [](const Group& g) {
         Tensor out(DType::float32, {1});
         g.scatter(floats(3), out.view(), 2);
       }},
      {"scatter_v",
       [](const Group& g) {
         Tensor out(DType::float32, {1});
         g.scatter_v(floats(3), out.view(), three, 2);
       }},
      {"all_to_all", [](const Group& g) { (void)g.all_to_all(floats(3)); }},
      {"all_to_all_v", [](const Group& g) { (void)g.all_to_all_v(floats(3), three, three); }},
      {"plan", [](const Group& g) { (void)g.plan_all_to_all_v(three); }},
      {"barrier", [](const Group& g) { g.barrier(); }},
      {"split", [](const Group& g) { (void)g.split(0); }},
      {"subgroup",
       [](const Group& g) {
         (void)g.subgroup({0, 1});
       }},
  };
}

const std::vector<World>& simulated_worlds() {
  static const std::vector<World> chosen = [] {
    std::vector<World> all = worlds();
    std::erase_if(all, [](const World& world) { return world.ranks != World::Ranks::simulated; });
    return all;
  }();
  return chosen;
}

TEST(Failure, EveryOperationKeepsItsLimitWhenThePeersAreAbsent) {
  for (const World& world : simulated_worlds()) {
    for (const Operation& operation : waiting_operations()) {
      world.run(3, [&](Group group) {
        SCOPED_TRACE(operation.name);
        if (group.rank() != 0) return stay_away(group, 10s);
        group.set_timeout(100ms);
        const auto error = error_of([&] { operation.call(group); });
        expect_is(error, ErrorKind::timed_out);
        if (error) {
          EXPECT_GE(error->elapsed(), 100ms);
          EXPECT_LE(error->elapsed(), 120ms);
        }
      });
    }
  }
}

TEST(Failure, AnExceptionInOneRankEndsTheOthers) {
  for (const World& world : simulated_worlds()) {
    for (const Operation& operation : waiting_operations()) {
      std::atomic<int> ended{0};
      try {
        world.run(3, [&](const Group& group) {
          SCOPED_TRACE(operation.name);
          if (group.rank() == 2) throw std::runtime_error("the program of rank 2 broke");
          if (group.rank() == 1) return stay_away(group, 20s);
          const auto error = error_of([&] { operation.call(group); });
          ASSERT_TRUE(error.has_value());
          EXPECT_NE(error->kind(), ErrorKind::timed_out) << error->what();
          EXPECT_LT(error->elapsed(), 1s);
          ASSERT_TRUE(group.failure().has_value());
          EXPECT_EQ(group.failure()->rank, 2);
          ++ended;
        });
        ADD_FAILURE() << "sim_run swallowed the exception";
      } catch (const std::runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("the program of rank 2 broke"), std::string::npos)
            << error.what();
      }
      EXPECT_EQ(ended, 1) << operation.name;
    }
  }
}

TEST(Failure, EveryLaterCallThrowsTheFirstCauseAtOnce) {
  for (const World& world : worlds()) {
    if (world.ranks == World::Ranks::processes) continue;  // what they hear is compared here, in one process
    std::vector<std::optional<Failure>> causes(3);
    world.run(3, [&](const Group& group) {
      if (group.rank() == 1) group.abort("enough is enough");
      const auto first = error_of([&] { group.barrier(); });
      expect_is(first, ErrorKind::aborted, {"enough is enough"});
      for (const Operation& operation : waiting_operations()) {
        if (group.rank() != 0) break;
        SCOPED_TRACE(operation.name);
        const auto error = error_of([&] { operation.call(group); });
        expect_is(error, ErrorKind::aborted, {"enough is enough"});
        if (error) {
          EXPECT_LT(error->elapsed(), 1s);
        }
      }
      causes[static_cast<std::size_t>(group.rank())] = group.failure();
      group.abort("a second one changes nothing");
      EXPECT_EQ(group.failure(), causes[static_cast<std::size_t>(group.rank())]);
    });
    ASSERT_TRUE(causes[0].has_value());
    EXPECT_EQ(causes[0]->kind, ErrorKind::aborted);
    EXPECT_EQ(causes[0]->rank, 1);
    EXPECT_EQ(causes[0], causes[1]);
    EXPECT_EQ(causes[0], causes[2]);
  }
}

TEST(Failure, AbortOfAnotherThreadFreesABlockedCall) {
  for (const Operation& operation : waiting_operations()) {
    SCOPED_TRACE(operation.name);
    std::vector<Group> groups = sim_group(3);
    std::optional<Error> error;
    std::atomic<bool> inside{false};
    {
      const std::jthread blocked([&] {
        inside = true;
        error = error_of([&] { operation.call(groups[0]); });
      });
      while (!inside) std::this_thread::yield();
      groups[0].abort("freed by another thread");
    }
    expect_is(error, ErrorKind::aborted, {"freed by another thread"});
    if (error) {
      EXPECT_LT(error->elapsed(), 10s);
    }
    EXPECT_TRUE(groups[1].failure().has_value());
    EXPECT_TRUE(groups[2].failure().has_value());
  }
}

TEST(Failure, AFailedGroupLeavesOthersAlone) {
  for (const World& world : worlds()) {
    world.run(3, [](const Group& group) {
      const auto other = group.split(0, group.size() - group.rank());
      ASSERT_TRUE(other.has_value());
      other->barrier();  // all have both groups
      if (group.rank() == 1) group.abort("only this group");
      expect_is(error_of([&] { group.barrier(); }), ErrorKind::aborted);
      EXPECT_FALSE(other->failure().has_value());
      EXPECT_TRUE(same(other->all_sum(Tensor::of<std::int32_t>({2})), Tensor::of<std::int32_t>({6})));
    });
  }
}

TEST(Failure, ALeftRankFailsOnlyTheCallsThatNeedIt) {
  for (const World& world : worlds()) {
    world.run(3, [](const Group& group) {
      group.barrier();
      if (group.rank() == 2) {
        group.send(Tensor::of<std::int32_t>({5}), 0);
        group.shutdown();
        return;
      }
      const int peer = 1 - group.rank();
      if (group.rank() == 0) {
        EXPECT_TRUE(same(group.recv<std::int32_t>({1}, 2), Tensor::of<std::int32_t>({5})));
        expect_error(ErrorKind::disconnected, {"rank 2"}, [&] { (void)group.recv<std::int32_t>({1}, 2); });
      }
      EXPECT_TRUE(same(group.sendrecv(Tensor::of<std::int32_t>({group.rank()}), {1}, peer),
                       Tensor::of<std::int32_t>({peer})));
      // The barrier ends the group: not before the other one is through with its messages.
      if (group.rank() == 0) {
        (void)group.recv<std::int32_t>({1}, 1, {.tag = 1});
      } else {
        group.send(Tensor::of<std::int32_t>({1}), 0, {.tag = 1});
      }
      expect_error(ErrorKind::disconnected, {"rank 2"}, [&] { group.barrier(); });
    });
  }
}

TEST(Failure, DeadlocksAreFoundAtOnce) {
  for (const World& world : simulated_worlds()) {
    // A ring of receives, and a barrier that one rank does not come to.
    world.run(3, [](const Group& group) {
      const auto error = error_of([&] { (void)group.recv<float>({1}, (group.rank() + 1) % 3); });
      expect_is(error, ErrorKind::timed_out);
      group.barrier();
    });
    world.run(3, [](const Group& group) {
      if (group.rank() == 2) {
        EXPECT_TRUE(error_of([&] { (void)group.recv<float>({1}, 0); }).has_value());
      } else {
        expect_is(error_of([&] { group.barrier(); }), ErrorKind::timed_out);
      }
    });
  }
}

TEST(Failure, BothSidesSendFirst) {
  constexpr std::int64_t count = 16 * 1024 * 1024;  // 64 MiB of float32
  const std::vector<Tensor> data = {values(DType::float32, Shape{count}, 0),
                                    values(DType::float32, Shape{count}, 1)};
  for (const World& world : worlds()) {
    if (world.name != "run_arena" && world.name != "group_arena") continue;
    world.run(2, [&](const Group& group) {
      const int peer = 1 - group.rank();
      const Tensor& mine = data[static_cast<std::size_t>(group.rank())];
      const Tensor& due = data[static_cast<std::size_t>(peer)];
      EXPECT_TRUE(same(group.sendrecv(mine, {count}, peer), due)) << "sendrecv";
      Tensor out(DType::float32, {count});
      Request sending = group.isend(mine, peer);
      Request receiving = group.irecv(out.view(), peer);
      sending.wait();
      receiving.wait();
      EXPECT_TRUE(same(out, due)) << "isend and irecv";
    });
  }
}

TEST(Failure, OneElementOnFiveRanks) {
  for (const World& world : worlds()) {
    world.run(5, [](const Group& group) {
      const auto me = static_cast<std::size_t>(group.rank());
      const auto in = values_of_all(5, DType::float64, Shape{1}, Content::sums, 4);
      const Tensor sum = reference_reduce(in, ReduceOp::sum);
      const Tensor all = reference_concat(in);
      const Counts to_third = {0, 0, 1, 0, 0};
      const Tensor none(DType::float64, {0});
      EXPECT_TRUE(same(group.all_sum(in[me]), sum));
      EXPECT_TRUE(same(group.all_gather(in[me]), all));
      EXPECT_TRUE(same(group.all_gather_v(me == 2 ? in[2] : none, to_third), in[2]));
      EXPECT_TRUE(same(group.sum_scatter_v(in[me], to_third), me == 2 ? sum : none));
      for (int root = 0; root < 5; ++root) {
        const bool is_root = group.rank() == root;
        EXPECT_TRUE(same(group.broadcast(in[me], root), in[static_cast<std::size_t>(root)]));
        const auto reduced = group.reduce(in[me], ReduceOp::sum, root);
        const auto gathered = group.gather(in[me], root);
        const auto gathered_v = group.gather_v(me == 2 ? in[2] : none, to_third, root);
        ASSERT_EQ(reduced.has_value() && gathered.has_value() && gathered_v.has_value(), is_root);
        if (is_root) {
          EXPECT_TRUE(same(*reduced, sum));
          EXPECT_TRUE(same(*gathered, all));
          EXPECT_TRUE(same(*gathered_v, in[2]));
        }
        Tensor out(DType::float64, {1});
        group.scatter(all, out.view(), root);
        EXPECT_TRUE(same(out, in[me]));
        Tensor part(DType::float64, {me == 2 ? 1 : 0});
        group.scatter_v(in[0], part.view(), to_third, root);
        EXPECT_TRUE(same(part, me == 2 ? in[0] : none));
      }
      Counts send(5, 0);
      Counts recv(5, 0);
      send[(me + 1) % 5] = 1;
      recv[(me + 4) % 5] = 1;
      EXPECT_TRUE(same(group.all_to_all_v(in[me], send, recv), in[(me + 4) % 5]));
      group.barrier();
    });
  }
}

// bool {T,F} and {T,T}; complex numbers as numbers; a mean divided by the number of ranks.
TEST(KnownFaults, TypesAndReductions) {
  for (const World& world : worlds()) {
    world.run(2, [](const Group& group) {
      const bool first = group.rank() == 0;
      const Tensor truth = first ? Tensor::of<bool>({true, false}) : Tensor::of<bool>({true, true});
      EXPECT_TRUE(same(group.all_reduce(truth, ReduceOp::logical_or), Tensor::of<bool>({true, true})));
      EXPECT_TRUE(same(group.all_reduce(truth, ReduceOp::logical_and), Tensor::of<bool>({true, false})));
      expect_error(ErrorKind::unsupported, {"sum", "bool"}, [&] { (void)group.all_sum(truth); });
      using Complex = std::complex<float>;
      const Tensor number = Tensor::of<Complex>({first ? Complex(1, 2) : Complex(3, -1)});
      EXPECT_TRUE(same(group.all_sum(number), Tensor::of<Complex>({Complex(4, 1)})));
      EXPECT_TRUE(same(group.all_reduce(number, ReduceOp::product), Tensor::of<Complex>({Complex(5, 5)})));
      expect_error(ErrorKind::unsupported, {"max", "complex64"}, [&] { (void)group.all_max(number); });
    });
    world.run(3, [](const Group& group) {
      const float r = static_cast<float>(group.rank());
      const Tensor mean = group.all_reduce(Tensor::of<float>({r, r + 1, 3 * r, -r, 6}), ReduceOp::mean);
      EXPECT_TRUE(same(mean, Tensor::of<float>({1, 2, 3, -1, 6})));
      expect_error(ErrorKind::unsupported, {"mean", "int32"},
                   [&] { (void)group.all_reduce(Tensor::of<std::int32_t>({1}), ReduceOp::mean); });
    });
    world.run(4, [](const Group& group) {
      const std::vector<float> in(4, static_cast<float>(group.rank() + 1));
      const std::array<std::pair<ReduceOp, float>, 4> due = {
          {{ReduceOp::mean, 2.5F}, {ReduceOp::max, 4.0F}, {ReduceOp::min, 1.0F}, {ReduceOp::product, 24.0F}}};
      for (const auto& [op, value] : due) {
        SCOPED_TRACE(label(op));
        EXPECT_TRUE(same(group.all_reduce(Tensor(in, {4}), op), Tensor(std::vector<float>(4, value), {4})));
        EXPECT_TRUE(same(group.reduce_scatter(Tensor(in, {4}), op), Tensor::of<float>({value})));
        const auto reduced = group.reduce(Tensor(in, {4}), op, 3);
        if (reduced) {
          EXPECT_TRUE(same(*reduced, Tensor(std::vector<float>(4, value), {4})));
        }
      }
    });
  }
}

}  // namespace
}  // namespace rondo::test
