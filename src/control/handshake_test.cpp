#include "control/handshake.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace {

using namespace rondo::control;
using Role = Handshake::Role;
using State = Handshake::State;
using Bytes = std::vector<std::byte>;

constexpr std::size_t everything = 1U << 20U;

Identity identity(int rank, int size = 3) {
  Identity who;
  who.rank = rank;
  who.size = size;
  who.job[3] = std::byte{0x5a};
  who.secret = "open sesame";
  return who;
}

/// Two sides and what has passed between them.
struct Pair {
  explicit Pair(
      const Identity& opening = identity(2), const Identity& accepting = identity(0),
      const std::function<void(Hello&)>& change = [](Hello&) {})
      : opener(Role::opener, changed(opening, change), opening.secret),
        acceptor(Role::acceptor, hello_of(accepting, Purpose::rendezvous), accepting.secret) {}

  static Hello changed(const Identity& who, const std::function<void(Hello&)>& change) {
    Hello hello = hello_of(who, Purpose::rendezvous);
    change(hello);
    return hello;
  }

  /// Moves at most `piece` bytes; how many it were.
  static std::size_t move(Handshake& from, Handshake& to, std::size_t piece, Bytes& log) {
    const auto out = from.outgoing().first(std::min(piece, from.outgoing().size()));
    if (out.empty()) return 0;
    const Bytes copy(out.begin(), out.end());
    const std::size_t taken = to.feed(copy);
    log.insert(log.end(), copy.begin(), copy.end());
    from.sent(copy.size());
    return taken;
  }

  /// Until nothing moves. `piece()`: how many bytes next.
  void run(const std::function<std::size_t()>& piece) {
    for (bool moved = true; moved;) {
      moved = move(opener, acceptor, piece(), said) > 0;
      moved = move(acceptor, opener, piece(), answered) > 0 || moved;
      if (acceptor.state() == State::deciding) {
        acceptor.welcome();
        moved = true;
      }
    }
  }
  void run() {
    run([] { return everything; });
  }

  Handshake opener;
  Handshake acceptor;
  Bytes said;      // by the opener
  Bytes answered;  // by the acceptor
};

void expect_done(const Pair& pair) {
  ASSERT_EQ(pair.opener.state(), State::done) << pair.opener.refusal().text;
  ASSERT_EQ(pair.acceptor.state(), State::done) << pair.acceptor.refusal().text;
  EXPECT_TRUE(pair.opener.proven() && pair.acceptor.proven());
  EXPECT_EQ(pair.opener.peer(), pair.acceptor.mine());
  EXPECT_EQ(pair.acceptor.peer(), pair.opener.mine());
  EXPECT_TRUE(pair.opener.outgoing().empty() && pair.acceptor.outgoing().empty());
}

/// Both sides must fail for this reason, in the same words, which have all of `parts` in them.
void expect_refused(Pair& pair, Why why, std::initializer_list<std::string_view> parts) {
  pair.run();
  for (const Handshake* side : {&pair.opener, &pair.acceptor}) {
    ASSERT_EQ(side->state(), State::failed);
    EXPECT_EQ(side->refusal().why, why) << side->refusal().text;
    for (const auto part : parts)
      EXPECT_NE(side->refusal().text.find(part), std::string::npos) << side->refusal().text;
  }
  EXPECT_EQ(pair.opener.refusal().text, pair.acceptor.refusal().text);
  EXPECT_NE(pair.opener.refused_by_peer(), pair.acceptor.refused_by_peer());
}

TEST(Handshake, both_learn_who_the_other_is) {
  Pair pair(identity(2), identity(0), [](Hello& hello) {
    hello.purpose = Purpose::message_lane;
    hello.group = 0xfedcba9876543210;
    hello.index = 513;
    hello.to = 0;
  });
  pair.run();
  expect_done(pair);
  EXPECT_EQ(pair.said.size(), Handshake::hello_bytes + Handshake::proof_bytes);
}

TEST(Handshake, bytes_one_by_one_and_in_random_pieces) {
  Pair slow;
  slow.run([] { return std::size_t{1}; });
  expect_done(slow);
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    Pair pair;
    pair.run([&] { return std::size_t{1} + random() % 60; });
    expect_done(pair);
  }
}

TEST(Handshake, takes_no_byte_of_what_follows) {
  Pair pair;
  pair.run();
  Handshake opener(Role::opener, pair.opener.mine(), identity(2).secret);
  Bytes stream = pair.answered;
  stream.resize(stream.size() + 100, std::byte{7});
  EXPECT_EQ(opener.feed(stream), pair.answered.size());
  EXPECT_EQ(opener.state(), State::done);
  EXPECT_EQ(opener.wanted(), 0U);
}

TEST(Handshake, launcher_answers_every_rank) {
  Pair pair(identity(0), identity(no_rank));
  pair.run();
  expect_done(pair);
}

TEST(Handshake, without_a_secret_on_both_sides) {
  Identity opening = identity(1), accepting = identity(0);
  opening.secret.clear();
  accepting.secret.clear();
  Pair pair(opening, accepting);
  pair.run();
  expect_done(pair);
}

TEST(Handshake, wrong_secret_is_refused_by_name_on_both_sides) {
  // The last is another key than HMAC itself would say.
  for (const std::string& secret :
       {std::string(), std::string("open sesami"), std::string("open sesame\0", 12)}) {
    Identity opening = identity(2);
    opening.secret = secret;
    Pair pair(opening);
    expect_refused(pair, Why::secret, {"rank 2", "rank 0", "secret"});
    EXPECT_EQ(pair.acceptor.refusal().text.find("sesam"), std::string::npos);
    EXPECT_FALSE(pair.acceptor.proven());
  }
}

TEST(Handshake, another_version_is_refused_on_both_sides) {
  Pair pair(identity(2), identity(0), [](Hello& hello) { hello.version = 7; });
  expect_refused(pair, Why::version, {"version 1", "version 7", "rank 0"});
}

TEST(Handshake, another_size_is_refused_on_both_sides) {
  Pair pair(identity(2, 4), identity(0, 3));
  expect_refused(pair, Why::size, {"rank 0", "size 3", "rank 2", "size 4"});
  EXPECT_TRUE(pair.acceptor.proven());
}

TEST(Handshake, another_job_is_refused_on_both_sides) {
  Identity other = identity(2);
  other.job[15] = std::byte{0xc3};
  Pair pair(other);
  expect_refused(pair, Why::job,
                 {"5a000000000000000000000000,", "5a0000000000000000000000c3", "rank 0", "rank 2"});
}

TEST(Handshake, rank_out_of_range_is_refused_on_both_sides) {
  for (const int rank : {3, 77, -1, -5, std::numeric_limits<int>::max()}) {
    Pair pair(identity(rank));
    expect_refused(pair, Why::rank, {"rank " + std::to_string(rank), "rank 0", "0 to 2"});
  }
}

TEST(Handshake, two_of_one_number_are_refused_on_both_sides) {
  Pair pair(identity(1), identity(1));
  expect_refused(pair, Why::duplicate, {"two", "rank 1"});
}

TEST(Handshake, wrong_rank_at_the_address_is_refused_on_both_sides) {
  Pair pair(identity(2), identity(0), [](Hello& hello) { hello.to = 1; });
  expect_refused(pair, Why::rank, {"rank 2", "looked for rank 1", "found rank 0"});
}

TEST(Handshake, acceptor_may_refuse_who_fits) {
  Pair pair;
  while (pair.acceptor.state() == State::talking) {
    Pair::move(pair.opener, pair.acceptor, everything, pair.said);
    Pair::move(pair.acceptor, pair.opener, everything, pair.answered);
  }
  ASSERT_EQ(pair.acceptor.state(), State::deciding);
  pair.acceptor.refuse({Why::unexpected, "no such\ngroup " + std::string(1000, 'x')});
  expect_refused(pair, Why::unexpected, {"no such?group xx"});
  EXPECT_EQ(pair.opener.refusal().text.size(), Handshake::most_words);
}

TEST(Handshake, replayed_opener_is_refused) {
  Pair pair;
  pair.run();
  expect_done(pair);
  Handshake acceptor(Role::acceptor, hello_of(identity(0), Purpose::rendezvous), identity(0).secret);
  acceptor.feed(pair.said);
  ASSERT_EQ(acceptor.state(), State::failed);
  EXPECT_EQ(acceptor.refusal().why, Why::secret);
  EXPECT_FALSE(acceptor.proven());
}

TEST(Handshake, replayed_acceptor_is_refused) {
  Pair pair;
  pair.run();
  Handshake opener(Role::opener, hello_of(identity(2), Purpose::rendezvous), identity(2).secret);
  opener.feed(pair.answered);
  ASSERT_EQ(opener.state(), State::failed);
  EXPECT_EQ(opener.refusal().why, Why::secret);
}

TEST(Handshake, reflected_bytes_are_refused) {
  // The opener's own hello comes back.
  Handshake opener(Role::opener, hello_of(identity(2), Purpose::rendezvous), identity(2).secret);
  const Bytes hello(opener.outgoing().begin(), opener.outgoing().end());
  opener.feed(hello);
  ASSERT_EQ(opener.state(), State::failed);
  EXPECT_EQ(opener.refusal().why, Why::stranger);

  // The acceptor's proof comes back as the opener's.
  Handshake acceptor(Role::acceptor, hello_of(identity(0), Purpose::rendezvous), identity(0).secret);
  acceptor.feed(hello);
  const auto answer = acceptor.outgoing();
  ASSERT_EQ(answer.size(), Handshake::hello_bytes + Handshake::proof_bytes);
  const Bytes proof(answer.begin() + Handshake::hello_bytes, answer.end());
  acceptor.feed(proof);
  ASSERT_EQ(acceptor.state(), State::failed);
  EXPECT_EQ(acceptor.refusal().why, Why::secret);
}

/// One side again, with the same hello, hearing these bytes.
State hears(const Handshake& side, Role role, std::span<const std::byte> bytes) {
  Handshake again(role, side.mine(), identity(0).secret);
  again.feed(bytes);
  return again.state();
}

TEST(Handshake, every_truncation_is_no_handshake) {
  Pair pair;
  pair.run();
  const std::span said(pair.said), answered(pair.answered);
  for (std::size_t length = 0; length < said.size(); ++length)
    EXPECT_EQ(hears(pair.acceptor, Role::acceptor, said.first(length)), State::talking) << length;
  for (std::size_t length = 0; length < answered.size(); ++length)
    EXPECT_EQ(hears(pair.opener, Role::opener, answered.first(length)), State::talking) << length;
  EXPECT_EQ(hears(pair.acceptor, Role::acceptor, said), State::deciding);
  EXPECT_EQ(hears(pair.opener, Role::opener, answered), State::done);
}

TEST(Handshake, every_changed_byte_is_refused) {
  Pair pair;
  pair.run();
  for (const unsigned change : {1U, 0x80U, 0xffU, 2U, 3U}) {
    const std::byte turned{static_cast<unsigned char>(change)};
    for (std::size_t i = 0; i < pair.said.size(); ++i) {
      Bytes bytes = pair.said;
      bytes[i] ^= turned;
      // One of the head may make a longer verdict of it, which then waits for its end.
      const State state = hears(pair.acceptor, Role::acceptor, bytes);
      EXPECT_TRUE(state == State::failed || state == State::talking) << i;
      bytes.resize(bytes.size() + 2 * Handshake::most_words);
      EXPECT_EQ(hears(pair.acceptor, Role::acceptor, bytes), State::failed) << i;
    }
    for (std::size_t i = 0; i < pair.answered.size(); ++i) {
      // The version of a verdict says nothing: a refusal must be readable in all.
      if (i - (pair.answered.size() - 14) - 4 < 2) continue;
      Bytes bytes = pair.answered;
      bytes[i] ^= turned;
      bytes.resize(bytes.size() + 2 * Handshake::most_words);
      EXPECT_EQ(hears(pair.opener, Role::opener, bytes), State::failed) << i;
    }
  }
}

TEST(Handshake, garbage_gets_no_answer) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    Bytes bytes(random() % 300);
    for (std::byte& each : bytes) each = static_cast<std::byte>(random() & 0xffU);
    Handshake acceptor(Role::acceptor, hello_of(identity(0), Purpose::control), "secret");
    acceptor.feed(bytes);
    EXPECT_TRUE(acceptor.outgoing().empty());
    EXPECT_EQ(acceptor.state(), bytes.size() < Handshake::head_bytes ? State::talking : State::failed);
    EXPECT_FALSE(acceptor.proven());
  }
}

TEST(Handshake, random_changes_never_pass) {
  std::mt19937 random(12);
  Pair pair;
  pair.run();
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = pair.said;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1 + random() % 255);
    if (bytes == pair.said) continue;
    const State state = hears(pair.acceptor, Role::acceptor, bytes);
    EXPECT_TRUE(state == State::failed || state == State::talking);
  }
}

}  // namespace
