#include "backend/mlx_ring/mlx_ring.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <future>
#include <limits>
#include <thread>

#include "net/socket.hpp"

namespace {

using namespace std::chrono_literals;
using namespace rondo;
using backend::GroupBackend;
using backend::join_mlx_ring;
using rendezvous::Hostfile;

// Entries with ports that were free a moment ago.
Hostfile ring_of(int ranks, int cables) {
  Hostfile file{"test", {}};
  std::vector<net::Listener> open;
  for (int r = 0; r < ranks; ++r) {
    file.ranks.emplace_back();
    for (int k = 0; k < cables; ++k) {
      open.emplace_back(net::resolve({"127.0.0.1", 0}).front());
      file.ranks.back().push_back({"127.0.0.1", open.back().bound().port()});
    }
  }
  return file;
}

std::shared_ptr<GroupBackend> join(const Hostfile& file, int rank) {
  Config config;
  config.timeout = 20s;
  base::Deadline deadline(base::real_scheduler(), 20s);
  return join_mlx_ring(file, rank, config, deadline);
}

void with_ring(int ranks, int cables, const std::function<void(GroupBackend&)>& body) {
  const Hostfile file = ring_of(ranks, cables);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        body(*join(file, r));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << r << ": " << error.what();
      }
    });
  for (auto& each : threads) each.join();
}

template <class Action>
std::string refusal(ErrorKind kind, Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "accepted";
}

std::int32_t value(int rank, std::size_t i) {
  return static_cast<std::int32_t>((i * 7 + static_cast<std::size_t>(rank) * 1013) % 65521);
}

std::vector<std::int32_t> values(int rank, std::size_t count) {
  std::vector<std::int32_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value(rank, i);
  return all;
}

void run(GroupBackend& group, const Collective& call) { group.run(call, {}, {}); }

TEST(MlxRing, collectives_of_every_size) {
  for (const int ranks : {2, 3, 4})
    for (const int cables : {1, 2})
      with_ring(ranks, cables, [&](GroupBackend& group) {
        const int me = group.seat().rank;
        const auto n = static_cast<std::size_t>(ranks);
        for (const std::size_t count : {0UL, 1UL, 2UL, 5UL, 1000UL, 300'001UL}) {
          SCOPED_TRACE(count);
          const auto in = values(me, count);
          std::vector<std::int32_t> sum(count);
          std::vector<std::int32_t> most(count);
          run(group, AllReduce{in, sum, ReduceOp::sum});
          run(group, AllReduce{in, most, ReduceOp::max});
          std::vector<std::int32_t> all(n * count);
          run(group, AllGather{in, all});
          std::vector<double> shared(count);
          for (std::size_t i = 0; me == 1 && i < count; ++i) shared[i] = -0.0 - static_cast<double>(i);
          run(group, Broadcast{shared, 1});
          std::vector<std::int32_t> part(count);
          run(group, ReduceScatter{all, part, ReduceOp::sum});
          std::vector<std::int32_t> swapped(n * count);
          run(group, AllToAll{all, swapped});
          for (std::size_t i = 0; i < count; ++i) {
            std::int32_t expected = 0;
            std::int32_t largest = 0;
            for (int r = 0; r < ranks; ++r) {
              expected += value(r, i);
              largest = std::max(largest, value(r, i));
              ASSERT_EQ(all[static_cast<std::size_t>(r) * count + i], value(r, i));
              ASSERT_EQ(swapped[static_cast<std::size_t>(r) * count + i], value(me, i));
            }
            ASSERT_EQ(sum[i], expected);
            ASSERT_EQ(most[i], largest);
            ASSERT_EQ(shared[i], -static_cast<double>(i));
            ASSERT_TRUE(std::signbit(shared[i]));
            ASSERT_EQ(part[i], ranks * value(me, i));
          }
        }
        run(group, Barrier{});
      });
}

TEST(MlxRing, the_bytes_are_those_of_mlx) {
  const Hostfile file = ring_of(2, 1);
  // Rank 1 by hand: the last rank connects first, then accepts.
  net::Listener listener(net::resolve(file.ranks[1][0]).front());
  std::thread rank_0([&] {
    const auto group = join(file, 0);
    std::vector<std::uint8_t> data{1, 2, 3};
    run(*group, AllReduce{data, data, ReduceOp::sum});
    EXPECT_EQ(data, (std::vector<std::uint8_t>{11, 22, 33}));
    std::vector<std::uint8_t> one{7};
    run(*group, AllReduce{one, one, ReduceOp::sum});
    EXPECT_EQ(one[0], 12);
    group->send(Send{data, 1}, {});
  });
  base::Deadline deadline(base::real_scheduler(), 20s);
  const base::Fd right = net::connect(net::resolve(file.ranks[0][0]).front(), deadline);
  base::Fd left;
  while (!(left = listener.accept())) ASSERT_TRUE(net::wait_ready(listener.fd(), net::Ready::read, deadline));
  const auto put = [&](const base::Fd& fd, std::vector<std::uint8_t> bytes) {
    net::write_all(fd.get(), std::as_bytes(std::span(bytes)), deadline);
  };
  const auto get = [&](const base::Fd& fd, std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    net::read_all(fd.get(), std::as_writable_bytes(std::span(bytes)), deadline);
    return bytes;
  };
  using Bytes = std::vector<std::uint8_t>;
  // Three elements run to the left: this rank's right connection is rank 0's left.
  put(left, {30});
  EXPECT_EQ(get(right, 3), (Bytes{1, 2, 33}));
  put(left, {11, 22});
  // Fewer elements than ranks: padded with zeros, to the right.
  put(right, {0});
  EXPECT_EQ(get(left, 2), (Bytes{7, 0}));
  put(right, {12});
  EXPECT_EQ(get(left, 3), (Bytes{11, 22, 33}));
  rank_0.join();
}

TEST(MlxRing, rules_of_mlx_for_bool_complex_and_nan) {
  with_ring(2, 1, [](GroupBackend& group) {
    const bool first = group.seat().rank == 0;
    std::array<bool, 3> flags{first, false, true};
    run(group, AllReduce{flags, flags, ReduceOp::sum});
    EXPECT_EQ(flags, (std::array<bool, 3>{true, false, true}));
    std::vector<std::complex<float>> points{first ? std::complex<float>(1, 5) : std::complex<float>(1, 7),
                                            first ? std::complex<float>(2, 0) : std::complex<float>(1, 9)};
    run(group, AllReduce{points, points, ReduceOp::max});
    EXPECT_EQ(points[0], std::complex<float>(1, 7));
    EXPECT_EQ(points[1], std::complex<float>(2, 0));
    // Segment 0 ends at rank 1, which keeps its own NaN and drops an incoming one.
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> some{first ? 1.0F : nan, first ? nan : 2.0F, first ? nan : 3.0F, 4.0F};
    run(group, AllReduce{some, some, ReduceOp::max});
    EXPECT_TRUE(std::isnan(some[0]));
    EXPECT_TRUE(std::isnan(some[2]));
    EXPECT_EQ(some[1], 2.0F);
    EXPECT_EQ(some[3], 4.0F);
  });
}

TEST(MlxRing, messages_between_neighbours_in_both_directions_at_once) {
  for (const int ranks : {2, 3})
    with_ring(ranks, 2, [&](GroupBackend& group) {
      const int me = group.seat().rank;
      const int right = (me + 1) % ranks;
      const int left = (me + ranks - 1) % ranks;
      for (const std::size_t count : {0UL, 1UL, 700UL, 2'000'000UL}) {
        const auto out = values(me, count);
        std::vector<std::int32_t> in(count);
        const std::array<Message, 2> both{Send{out, right}, Recv{in, left}};
        group.batch(both, {}, "sendrecv");
        EXPECT_EQ(in, values(left, count));
        std::vector<std::int32_t> again(count);
        const auto sending = group.start(Send{out, right}, "isend");
        const auto receiving = group.start(Recv{again, left}, "irecv");
        receiving->wait(20s);
        sending->wait(20s);
        EXPECT_EQ(again, in);
      }
    });
}

TEST(MlxRing, what_the_wire_cannot_do_is_refused_and_the_group_goes_on) {
  with_ring(4, 1, [](GroupBackend& group) {
    const int me = group.seat().rank;
    std::vector<float> data{1.0F, 2.0F, 3.0F, 4.0F};
    const std::string product = refusal(ErrorKind::unsupported, [&] {
      run(group, AllReduce{data, data, ReduceOp::product});
    });
    EXPECT_NE(product.find("RONDO_RING_WIRE=rondo"), std::string::npos) << product;
    EXPECT_NE(refusal(ErrorKind::unsupported,
                      [&] {
                        group.send(Send{data, (me + 2) % 4}, {});
                      })
                  .find("is not a neighbour"),
              std::string::npos);
    (void)refusal(ErrorKind::unsupported, [&] { group.send(Send{data, (me + 1) % 4, 5}, {}); });
    (void)refusal(ErrorKind::unsupported, [&] { group.split(me % 2, {}); });
    const auto same = group.split(0, {});
    ASSERT_NE(same, nullptr);
    EXPECT_EQ(same->seat().size, 4);
    EXPECT_EQ(group.split(me, {})->seat().size, 1);
    run(*same, AllReduce{data, data, ReduceOp::mean});
    EXPECT_EQ(data, (std::vector<float>{1.0F, 2.0F, 3.0F, 4.0F}));
  });
}

TEST(MlxRing, a_receive_that_came_too_early_may_be_repeated) {
  // Told beside the ring: whatever came over it would be taken for the message.
  std::promise<void> gave_up;
  with_ring(2, 1, [&](GroupBackend& group) {
    std::vector<std::int32_t> data{0, 0};
    if (group.seat().rank == 0) {
      (void)refusal(ErrorKind::timed_out, [&] { group.recv(Recv{data, 1}, 50ms); });
      EXPECT_FALSE(group.failure().has_value());
      gave_up.set_value();
      group.recv(Recv{data, 1}, {});
      EXPECT_EQ(data, values(1, 2));
    } else {
      gave_up.get_future().wait();
      group.send(Send{values(1, 2), 0}, {});
    }
  });
}

TEST(MlxRing, a_rank_that_ends_or_is_silent_is_named) {
  with_ring(3, 1, [](GroupBackend& group) {
    std::vector<std::int32_t> data(1'000'000);
    if (group.seat().rank == 1) {
      group.abort("enough");
      return;
    }
    (void)refusal(ErrorKind::disconnected, [&] { run(group, AllReduce{data, data, ReduceOp::sum}); });
    EXPECT_TRUE(group.failure().has_value());
  });
  with_ring(2, 1, [](GroupBackend& group) {
    std::vector<std::int32_t> data(10);
    if (group.seat().rank == 1) {
      (void)refusal(ErrorKind::disconnected, [&] { group.recv(Recv{data, 0}, {}); });
      return;
    }
    const std::string late = refusal(ErrorKind::timed_out, [&] {
      group.run(AllReduce{data, data, ReduceOp::sum}, 100ms, {});
    });
    EXPECT_NE(late.find("timed out after 0.1 s: rank 1 has sent 0 of"), std::string::npos) << late;
  });
}

TEST(MlxRing, a_neighbour_that_never_answers_is_told_with_file_entry_and_address) {
  const Hostfile file = ring_of(2, 1);
  base::Deadline deadline(base::real_scheduler(), 100ms);
  try {
    (void)join_mlx_ring(file, 1, Config(), deadline);
    FAIL();
  } catch (const base::Problem& problem) {
    EXPECT_EQ(problem.kind(), ErrorKind::unavailable);
    EXPECT_EQ(problem.peer(), 0);
    EXPECT_EQ(std::string(problem.what()).find("hostfile \"test\", entry 0, address 0 (\"127.0.0.1:"), 0U)
        << problem.what();
  }
}

}  // namespace
