#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>

#include "base/fd.hpp"
#include "rendezvous/star.hpp"
#include "rendezvous/test_support.hpp"

namespace {

using namespace rondo::rendezvous;
using rondo::ErrorKind;
using rondo::control::no_rank;
namespace base = rondo::base;
namespace net = rondo::net;

/// A launcher's star for three ranks that can be stopped from outside.
class StoppedStar : public testing::Test {
 protected:
  std::unique_ptr<Rendezvous> server(StarOptions options = {}) {
    options.stop = bell_.get();
    return serve_star(identity(no_rank, 3), std::move(listeners_), options);
  }
  std::unique_ptr<Rendezvous> client(int rank) {
    return join_star(identity(rank, 3), {.host = "127.0.0.1", .port = port_});
  }
  void ring() {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(bell_.get(), &one, sizeof(one)), ssize_t{sizeof(one)});
  }
  void silence() {
    std::uint64_t count = 0;
    (void)!::read(bell_.get(), &count, sizeof(count));  // nothing when it is silent already
  }

  base::Fd bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::vector<net::Listener> listeners_ = listen_at({.host = "127.0.0.1", .port = 0});
  std::uint16_t port_ = listeners_.front().bound().port();
};

TEST_F(StoppedStar, ends_before_anybody_came) {
  ring();
  const auto star = server();
  expect_problem(exchange_problem(*star, no_rank, 1, plenty), ErrorKind::aborted, {"stopped"});
}

TEST_F(StoppedStar, ends_for_those_who_have_joined_and_in_the_words_given) {
  std::atomic<std::size_t> most_joined{0};
  StarOptions options;
  options.stop_reason = [&](std::size_t joined) -> std::optional<Problem> {
    most_joined = joined;
    if (joined < 2) return std::nullopt;
    return Problem(ErrorKind::disconnected, 1, "rank 1 was eaten by a bear");
  };
  ring();  // asked at every turn, and the answer is to go on until two have joined
  const auto star = server(options);
  run_all({
      [&] { expect_problem(exchange_problem(*star, no_rank, 1, plenty), ErrorKind::disconnected, {"bear"}); },
      [&] { expect_problem(exchange_problem(*client(0), 0, 1, plenty), ErrorKind::disconnected, {"bear"}); },
      [&] { expect_problem(exchange_problem(*client(2), 2, 1, plenty), ErrorKind::disconnected, {"bear"}); },
  });
  EXPECT_EQ(most_joined, 2U);
}

TEST_F(StoppedStar, wakes_a_server_that_waits) {
  const auto star = server();
  run_all({
      [&] { expect_problem(exchange_problem(*star, no_rank, 1, plenty), ErrorKind::aborted, {"stopped"}); },
      [&] { ring(); },
  });
}

TEST_F(StoppedStar, goes_on_when_there_is_no_reason) {
  StarOptions options;
  options.stop_reason = [&](std::size_t) -> std::optional<Problem> {
    silence();
    return std::nullopt;
  };
  ring();
  const auto star = server(options);
  std::vector<std::function<void()>> mains{[&] { expect_exchange(*star, 3, no_rank, 1); }};
  for (int rank = 0; rank < 3; ++rank)
    mains.emplace_back([&, rank] { expect_exchange(*client(rank), 3, rank, 1); });
  run_all(mains);
}

}  // namespace
