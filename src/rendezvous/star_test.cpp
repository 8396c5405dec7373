#include "rendezvous/star.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <latch>
#include <mutex>

#include "rendezvous/star_frames.hpp"
#include "rendezvous/test_support.hpp"

namespace {

using namespace rondo::rendezvous;
using namespace std::chrono_literals;
using rondo::ErrorKind;
using rondo::control::Identity;
using rondo::control::no_rank;
namespace base = rondo::base;
namespace net = rondo::net;

std::vector<net::Listener> any_port() { return listen_at({.host = "127.0.0.1", .port = 0}); }

net::HostPort place_of(const std::vector<net::Listener>& listeners) {
  return {.host = "127.0.0.1", .port = listeners.front().bound().port()};
}

/// A star of threads on a free port: rank 0 serves, or the launcher.
class Star : public testing::Test {
 protected:
  std::unique_ptr<Rendezvous> server(const Identity& who) {
    StarOptions options;
    options.handshake_limit = handshake_limit_;
    options.report = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      reports_.push_back(line);
    };
    return serve_star(who, std::move(listeners_), options);
  }
  std::unique_ptr<Rendezvous> client(const Identity& who) { return join_star(who, place_); }
  std::unique_ptr<Rendezvous> end(int rank, int size) {
    return rank <= 0 ? server(identity(rank, size)) : client(identity(rank, size));
  }

  base::Fd stranger() {
    base::Deadline deadline(base::real_scheduler(), plenty);
    return net::connect(net::resolve(place_).front(), deadline);
  }

  /// What each of these ranks sees when the others of the job never come.
  std::map<int, std::optional<Problem>> problems(const std::vector<Identity>& present,
                                                 const std::vector<base::Duration>& limits) {
    std::map<int, std::optional<Problem>> found;
    std::vector<std::function<void()>> mains;
    std::vector<std::optional<Problem>> results(present.size());
    for (std::size_t i = 0; i < present.size(); ++i)
      mains.emplace_back([&, i] {
        const Identity& who = present[i];
        auto rendezvous = who.rank <= 0 ? server(who) : client(who);
        results[i] = exchange_problem(*rendezvous, who.rank, 1, limits[i]);
      });
    run_all(mains);
    for (std::size_t i = 0; i < present.size(); ++i) found[static_cast<int>(i)] = results[i];
    return found;
  }

  std::vector<net::Listener> listeners_ = any_port();
  net::HostPort place_ = place_of(listeners_);
  base::Duration handshake_limit_ = 2s;
  std::mutex mutex_;
  std::vector<std::string> reports_;
};

class StarOfSize : public Star, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, StarOfSize, testing::Values(1, 2, 3, 5, 8));

TEST_P(StarOfSize, several_exchanges) {
  const int size = GetParam();
  std::vector<std::function<void()>> mains;
  for (int rank = 0; rank < size; ++rank)
    mains.emplace_back([this, rank, size] {
      const auto rendezvous = end(rank, size);
      for (int exchange = 1; exchange <= 5; ++exchange) expect_exchange(*rendezvous, size, rank, exchange);
    });
  run_all(mains);
}

TEST_P(StarOfSize, launcher_serves) {
  const int size = GetParam();
  std::vector<std::function<void()>> mains;
  mains.emplace_back([this, size] {
    const auto rendezvous = server(identity(no_rank, size));
    for (int exchange = 1; exchange <= 3; ++exchange) expect_exchange(*rendezvous, size, no_rank, exchange);
  });
  for (int rank = 0; rank < size; ++rank)
    mains.emplace_back([this, rank, size] {
      const auto rendezvous = client(identity(rank, size));
      for (int exchange = 1; exchange <= 3; ++exchange) expect_exchange(*rendezvous, size, rank, exchange);
    });
  run_all(mains);
}

TEST_F(Star, without_a_secret) {
  std::vector<std::function<void()>> mains;
  for (int rank = 0; rank < 3; ++rank)
    mains.emplace_back([this, rank] {
      Identity who = identity(rank, 3);
      who.secret.clear();
      const auto rendezvous = rank == 0 ? server(who) : client(who);
      expect_exchange(*rendezvous, 3, rank, 1);
    });
  run_all(mains);
}

TEST_F(Star, server_comes_later_than_the_clients) {
  // The port is known before anybody listens: whoever had it has just gone.
  listeners_.clear();
  std::atomic<int> started{0};
  std::vector<std::function<void()>> mains;
  mains.emplace_back([&] {
    while (started < 2) base::real_scheduler().yield();
    listeners_ = listen_at(place_);
    expect_exchange(*end(0, 3), 3, 0, 1);
  });
  for (int rank = 1; rank < 3; ++rank)
    mains.emplace_back([&, rank] {
      const auto rendezvous = end(rank, 3);
      ++started;
      expect_exchange(*rendezvous, 3, rank, 1);
    });
  run_all(mains);
}

TEST_F(Star, missing_rank_is_named_on_all_who_joined_when_the_server_ends_first) {
  const auto found = problems({identity(0, 3), identity(1, 3)}, {1s, plenty});
  for (const auto& [index, problem] : found) {
    expect_problem(problem, ErrorKind::timed_out, {"2 of 3 joined, missing rank 2"});
    EXPECT_EQ(problem->peer(), 2);
  }
}

TEST_F(Star, missing_rank_is_named_on_all_who_joined_when_a_client_ends_first) {
  const auto found = problems({identity(0, 4), identity(1, 4), identity(3, 4)}, {plenty, plenty, 1s});
  for (const auto& [index, problem] : found)
    expect_problem(problem, ErrorKind::timed_out, {"3 of 4 joined, missing rank 2"});
}

TEST_F(Star, launcher_names_who_is_missing) {
  const auto found = problems({identity(no_rank, 5), identity(3, 5)}, {1s, plenty});
  for (const auto& [index, problem] : found)
    expect_problem(problem, ErrorKind::timed_out, {"1 of 5 joined, missing ranks 0, 1, 2, 4"});
}

TEST_F(Star, no_server_at_all) {
  listeners_.clear();
  const auto problem = exchange_problem(*client(identity(1, 2)), 1, 1, 200ms);
  expect_problem(problem, ErrorKind::timed_out,
                 {"rank 1", "127.0.0.1:" + std::to_string(place_.port), "refused"});
}

TEST_F(Star, server_that_never_answers) {
  const auto problem = exchange_problem(*client(identity(1, 2)), 1, 1, 200ms);
  expect_problem(problem, ErrorKind::timed_out, {"rank 1", "no answer"});
}

TEST_F(Star, rank_that_leaves_out_an_exchange_is_named) {
  std::vector<std::optional<Problem>> found(3);
  std::latch over(2);
  std::vector<std::function<void()>> mains;
  for (int rank = 0; rank < 3; ++rank)
    mains.emplace_back([&, rank] {
      const auto rendezvous = end(rank, 3);
      expect_exchange(*rendezvous, 3, rank, 1);
      if (rank != 1) {
        found[static_cast<std::size_t>(rank)] =
            exchange_problem(*rendezvous, rank, 2, rank == 0 ? 1s : plenty);
        over.count_down();
      }
      over.wait();
    });
  run_all(mains);
  for (const std::size_t rank : {0U, 2U})
    expect_problem(found[rank], ErrorKind::timed_out, {"exchange 2: 2 of 3 came, missing rank 1"});
}

TEST_F(Star, rank_that_dies_is_named_at_once) {
  std::vector<std::optional<Problem>> found(3);
  std::vector<std::function<void()>> mains;
  for (int rank = 0; rank < 3; ++rank)
    mains.emplace_back([&, rank] {
      const auto rendezvous = end(rank, 3);
      expect_exchange(*rendezvous, 3, rank, 1);
      if (rank != 2) found[static_cast<std::size_t>(rank)] = exchange_problem(*rendezvous, rank, 2, plenty);
    });
  run_all(mains);
  for (const std::size_t rank : {0U, 1U}) {
    expect_problem(found[rank], ErrorKind::disconnected, {"rank 2 left"});
    EXPECT_EQ(found[rank]->peer(), 2);
  }
}

TEST_F(Star, server_that_dies_is_named_at_once) {
  std::optional<Problem> found;
  run_all({[&] { expect_exchange(*end(0, 2), 2, 0, 1); },
           [&] {
             const auto rendezvous = end(1, 2);
             expect_exchange(*rendezvous, 2, 1, 1);
             found = exchange_problem(*rendezvous, 1, 2, plenty);
           }});
  expect_problem(found, ErrorKind::disconnected, {"rendezvous at 127.0.0.1:"});
}

TEST_F(Star, two_of_one_number_are_named_on_all_sides) {
  const auto found = problems({identity(0, 3), identity(1, 3), identity(1, 3)}, {plenty, plenty, plenty});
  for (const auto& [index, problem] : found)
    expect_problem(problem, ErrorKind::unavailable, {"two processes say that they are rank 1"});
}

TEST_F(Star, second_rank_0_is_named_on_both_sides) {
  std::vector<std::optional<Problem>> found(2);
  run_all({[&] { found[0] = exchange_problem(*server(identity(0, 2)), 0, 1, plenty); },
           [&] { found[1] = exchange_problem(*client(identity(0, 2)), 0, 1, plenty); }});
  for (const auto& problem : found)
    expect_problem(problem, ErrorKind::unavailable, {"two processes say that they are rank 0"});
}

TEST_F(Star, wrong_size_is_named_on_all_sides) {
  const auto found = problems({identity(0, 3), identity(1, 3), identity(2, 4)}, {plenty, 1s, plenty});
  // Rank 1 may come when all is over.
  for (const int index : {0, 2})
    expect_problem(found.at(index), ErrorKind::unavailable,
                   {"rank 0 was started with size 3, rank 2 with size 4"});
}

TEST_F(Star, wrong_secret_is_named_on_both_sides) {
  Identity other = identity(2, 3);
  other.secret = "guessed";
  const auto found = problems({identity(0, 3), identity(1, 3), other}, {1s, plenty, plenty});
  expect_problem(found.at(2), ErrorKind::unavailable, {"rank 2 and rank 0 hold different secrets"});
  expect_problem(found.at(0), ErrorKind::timed_out,
                 {"2 of 3 joined, missing rank 2", "rank 2 and rank 0 hold different secrets"});
  expect_problem(found.at(1), ErrorKind::timed_out, {"2 of 3 joined, missing rank 2"});
}

TEST_F(Star, another_job_is_turned_away_and_this_one_goes_on) {
  std::optional<Problem> found;
  Identity other = identity(1, 2);
  other.job[0] = std::byte{9};
  run_all({[&] {
             const auto rendezvous = end(0, 2);
             expect_exchange(*rendezvous, 2, 0, 1);
             expect_exchange(*rendezvous, 2, 0, 2);
           },
           [&] {
             found = exchange_problem(*client(other), 1, 1, plenty);
             const auto rendezvous = end(1, 2);
             expect_exchange(*rendezvous, 2, 1, 1);
             expect_exchange(*rendezvous, 2, 1, 2);
           }});
  expect_problem(found, ErrorKind::unavailable, {"belongs to job 0000", "job 0900"});
}

TEST_F(Star, blob_too_large_is_refused_before_anything_moves) {
  const auto client_end = client(identity(1, 2));
  base::Deadline deadline(base::real_scheduler(), plenty);
  expect_problem(problem_in([&] { (void)client_end->exchange(Blob(most_blob_bytes + 1, 'x'), deadline); }),
                 ErrorKind::invalid_argument, {"1048577", "1048576"});
}

/// Strangers come while rank 0 waits for rank 1, which comes last; none may cost the time of a handshake.
class StarAmongStrangers : public Star {
 protected:
  void expect_undelayed(const std::function<void(std::vector<base::Fd>&)>& visit) {
    handshake_limit_ = plenty;
    const auto begin = base::real_scheduler().now();
    run_all({[&] { expect_exchange(*end(0, 3), 3, 0, 1); }, [&] { expect_exchange(*end(2, 3), 3, 2, 1); },
             [&] {
               std::vector<base::Fd> visitors;
               visit(visitors);
               expect_exchange(*end(1, 3), 3, 1, 1);
             }});
    // One silent one that is waited for would cost all of it.
    EXPECT_LT(base::real_scheduler().now() - begin, plenty / 3);
  }
};

TEST_F(StarAmongStrangers, garbage) {
  expect_undelayed([&](auto& visitors) {
    for (int i = 0; i < 20; ++i) {
      visitors.push_back(stranger());
      const std::string words =
          "GET / HTTP/1.1\r\nHost: " + std::string(static_cast<std::size_t>(i * 500), 'h');
      (void)::send(visitors.back().get(), words.data(), words.size(), MSG_NOSIGNAL);
    }
  });
  const std::lock_guard lock(mutex_);
  ASSERT_FALSE(reports_.empty());
  EXPECT_NE(reports_.front().find("127.0.0.1"), std::string::npos);
}

TEST_F(StarAmongStrangers, silence_and_half_a_hello) {
  expect_undelayed([&](auto& visitors) {
    for (int i = 0; i < 40; ++i) {
      visitors.push_back(stranger());
      if (i % 2 == 0) (void)::send(visitors.back().get(), "rndo\1\0\1", 7, MSG_NOSIGNAL);
    }
  });
}

TEST_F(StarAmongStrangers, scanners_that_connect_and_close) {
  expect_undelayed([&](auto&) {
    for (int i = 0; i < 100; ++i) {
      const base::Fd fd = stranger();
      const linger reset{1, 0};
      if (i % 2 == 0) (void)::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
  });
}

TEST_F(StarAmongStrangers, more_silent_ones_than_there_are_places) {
  expect_undelayed([&](auto& visitors) {
    for (int i = 0; i < 200; ++i) visitors.push_back(stranger());
  });
}

TEST(StarFrames, round_trip_in_pieces) {
  std::vector<StarFrame> frames(4);
  frames[0] = {StarFrame::Kind::blob, 0, 7, 3, Blob(5000, 'b')};
  frames[1] = failed_frame(9, Problem(ErrorKind::mismatch, 4, "sizes"));
  frames[2] = {StarFrame::Kind::leave, 0, 0xffffffff, 2147483647, ""};
  frames[3] = {StarFrame::Kind::roll, 0, 1, -1, "1 of 2"};
  std::string text;
  for (const StarFrame& frame : frames) text += encode(frame);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, text.size()}) {
    StarReader reader;
    std::size_t seen = 0;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      reader.feed(std::as_bytes(std::span(text)).subspan(at, std::min(piece, text.size() - at)));
      while (const auto frame = reader.next()) EXPECT_TRUE(*frame == frames[seen++]);
    }
    EXPECT_EQ(seen, frames.size());
  }
  const Problem problem = problem_of(frames[1]);
  EXPECT_EQ(problem.kind(), ErrorKind::mismatch);
  EXPECT_EQ(problem.peer(), 4);
}

TEST(StarFrames, lengths_are_checked_before_anything_is_kept) {
  for (const auto kind : {StarFrame::Kind::blob, StarFrame::Kind::roll, StarFrame::Kind::failed}) {
    std::string head = encode({kind, 0, 1, 1, ""});
    const std::size_t most = kind == StarFrame::Kind::blob ? most_blob_bytes : StarFrame::most_words;
    for (std::size_t i = 0; i < 4; ++i) head[16 + i] = static_cast<char>((most + 1) >> (8 * i));
    StarReader reader;
    expect_problem(problem_in([&] { reader.feed(std::as_bytes(std::span(head))); }), ErrorKind::disconnected,
                   {std::to_string(most + 1)});
  }
}

TEST(StarFrames, every_changed_byte_of_a_head_is_refused_or_is_another_frame) {
  const StarFrame frame{StarFrame::Kind::blob, 0, 5, 1, "abc"};
  const std::string text = encode(frame);
  for (std::size_t i = 0; i < StarFrame::head_bytes; ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 0x5a);
    StarReader reader;
    const auto problem = problem_in([&] { reader.feed(std::as_bytes(std::span(changed))); });
    const auto read = problem ? std::nullopt : reader.next();
    EXPECT_FALSE(read && *read == frame) << i;
    EXPECT_TRUE(problem || i >= 8) << i;
  }
}

}  // namespace
