#include "net/socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "net/test_support.hpp"

namespace {

using namespace rondo::net;
using namespace rondo::net::testing_support;
using rondo::base::Deadline;
using rondo::base::Fd;
using rondo::base::real_scheduler;
using std::chrono::milliseconds;
using std::chrono::seconds;

void expect_flags(int fd) {
  EXPECT_NE(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

void expect_no_delay(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  ASSERT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size), 0);
  EXPECT_NE(value, 0);
}

/// Closes so that the other end is reset.
void abort_connection(Fd& fd) {
  const linger at_once{1, 0};
  ASSERT_EQ(setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  fd.reset();
}

/// Lets no further descriptor be opened while it lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const Fd next(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    limit_ = next.get();
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(limit_);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }
  std::string words() const {
    return "Too many open files (the limit of this process is " + std::to_string(limit_) + ")";
  }

 private:
  rlimit before_{};
  int limit_ = 0;
};

void both_ways(const std::string& where) {
  const Pair pair(where);
  EXPECT_TRUE(local_address(pair.near.get()) == peer_address(pair.far.get()));
  EXPECT_TRUE(local_address(pair.far.get()) == peer_address(pair.near.get()));
  for (const int fd : {pair.near.get(), pair.far.get()}) {
    expect_flags(fd);
    expect_no_delay(fd);
  }
  constexpr std::size_t size = 6 * 1024 * 1024 + 13;  // more than the buffers between take
  const std::vector<std::byte> there = pattern(size, 1);
  const std::vector<std::byte> back = pattern(size + 1001, 2);
  std::vector<std::byte> got_there(there.size());
  std::vector<std::byte> got_back(back.size());
  std::thread other([&] {
    Deadline limit = ample();
    read_all(pair.far.get(), got_there, limit);
    write_all(pair.far.get(), back, limit);
  });
  Deadline limit = ample();
  write_all(pair.near.get(), there, limit);
  read_all(pair.near.get(), got_back, limit);
  other.join();
  EXPECT_TRUE(got_there == there);
  EXPECT_TRUE(got_back == back);
}

TEST(Socket, large_data_both_ways) { both_ways("127.0.0.1:0"); }

TEST(Socket, large_data_both_ways_over_ipv6) {
  if (!has_v6()) GTEST_SKIP() << "this machine has no ::1";
  both_ways("[::1]:0");
}

TEST(SocketStream, full_duplex_on_one_thread) {
  Pair pair;
  SocketStream ends[] = {SocketStream(std::move(pair.near)), SocketStream(std::move(pair.far))};
  constexpr std::size_t size = 24 * 1024 * 1024 + 7;  // more than the buffers between take
  constexpr std::size_t head = 77777;                 // where the second part of a write begins
  std::vector<std::byte> out[2] = {pattern(size, 3), pattern(size, 4)};
  std::vector<std::byte> in[2] = {std::vector<std::byte>(size), std::vector<std::byte>(size)};
  std::size_t written[2] = {};
  std::size_t read[2] = {};
  bool full[2] = {};
  while (read[0] < size || read[1] < size) {
    ASSERT_TRUE(written[0] < size || full[0]);
    ASSERT_TRUE(written[1] < size || full[1]);
    for (int i : {0, 1}) {
      if (written[i] < size) {
        const std::span<const std::byte> rest = std::span(out[i]).subspan(written[i]);
        const std::size_t first = written[i] < head ? head - written[i] : 0;
        const Moved moved = ends[i].writev(rest.first(first), rest.subspan(first));
        ASSERT_NE(moved.state, Moved::State::closed);
        full[i] = full[i] || moved.state == Moved::State::blocked;
        written[i] += moved.bytes;
      }
      // Nobody reads before both are full.
      if (!full[0] || !full[1] || read[i] == size) continue;
      const Moved moved = ends[i].read(std::span(in[i]).subspan(read[i]));
      ASSERT_NE(moved.state, Moved::State::closed);
      read[i] += moved.bytes;
    }
  }
  EXPECT_TRUE(in[1] == out[0]);
  EXPECT_TRUE(in[0] == out[1]);
}

TEST(SocketStream, nothing_to_read_is_blocked) {
  Pair pair;
  SocketStream stream(std::move(pair.near));
  std::byte memory[4];
  EXPECT_EQ(stream.read(memory).state, Moved::State::blocked);
}

TEST(SocketStream, closed_comes_after_the_last_byte) {
  Pair pair;
  SocketStream near(std::move(pair.near));
  SocketStream far(std::move(pair.far));
  const std::vector<std::byte> bytes = pattern(100, 5);
  ASSERT_EQ(far.writev(bytes, {}).bytes, 100U);
  far.end_writes();
  // The other direction is still open.
  ASSERT_EQ(near.writev({}, std::span(bytes).first(30)).bytes, 30U);
  std::vector<std::byte> got(100);
  Deadline limit = ample();
  read_all(near.fd(), got, limit);
  EXPECT_TRUE(got == bytes);
  ASSERT_TRUE(wait_ready(near.fd(), Ready::read, limit));
  EXPECT_EQ(near.read(got).state, Moved::State::closed);
  EXPECT_EQ(near.read(got).state, Moved::State::closed);
  got.resize(30);
  read_all(far.fd(), got, limit);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
  far.shutdown();
  EXPECT_EQ(far.writev(bytes, {}).state, Moved::State::closed);
  EXPECT_EQ(far.read(got).state, Moved::State::closed);
}

TEST(SocketStream, writing_to_a_peer_that_is_gone_is_closed_and_raises_no_signal) {
  ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);  // a signal would end the process
  Pair pair;
  SocketStream stream(std::move(pair.near));
  pair.far.reset();
  const std::vector<std::byte> bytes = pattern(1000, 6);
  Deadline limit = ample();
  Moved moved;
  do {
    moved = stream.writev(bytes, bytes);
    ASSERT_FALSE(limit.expired());
  } while (moved.state != Moved::State::closed);
  EXPECT_EQ(moved.bytes, 0U);
  EXPECT_EQ(stream.writev(bytes, {}).state, Moved::State::closed);
}

TEST(SocketStream, a_reset_connection_is_closed) {
  Pair pair;
  SocketStream stream(std::move(pair.near));
  abort_connection(pair.far);
  Deadline limit = ample();
  ASSERT_TRUE(wait_ready(stream.fd(), Ready::read, limit));
  std::byte memory[4];
  EXPECT_EQ(stream.read(memory).state, Moved::State::closed);
}

TEST(SocketStream, acknowledged_when_all_has_arrived_or_never_will) {
  Pair pair;
  SocketStream stream(std::move(pair.near));
  EXPECT_TRUE(stream.acknowledged());
  const std::vector<std::byte> words(100, std::byte{7});
  EXPECT_EQ(stream.writev(words, {}).bytes, words.size());
  while (!stream.acknowledged()) rondo::base::real_scheduler().yield();
  SocketStream far(std::move(pair.far));
  std::vector<std::byte> got(words.size());
  EXPECT_EQ(far.read(got).bytes, words.size());
  far = SocketStream(rondo::base::Fd());          // it closes, all read
  EXPECT_GT(stream.writev(words, {}).bytes, 0U);  // and answers this by a reset
  while (!stream.acknowledged()) rondo::base::real_scheduler().yield();
}

TEST(ReadAll, a_peer_that_closes_in_the_middle_is_named) {
  Pair pair;
  const std::string peer = to_string(peer_address(pair.near.get()));
  Deadline limit = ample();
  write_all(pair.far.get(), pattern(40, 7), limit);
  pair.far.reset();
  std::vector<std::byte> memory(100);
  EXPECT_EQ(problem_of([&] { read_all(pair.near.get(), memory, limit); }),
            "disconnected: " + peer + " closed the connection after 40 of 100 bytes");
}

TEST(ReadAll, a_peer_that_is_reset_in_the_middle_is_named) {
  Pair pair;
  const std::string peer = to_string(peer_address(pair.near.get()));
  std::thread other([&] {
    // Behind a byte, so that the reader has begun.
    std::byte byte[1];
    Deadline limit = ample();
    read_all(pair.far.get(), byte, limit);
    abort_connection(pair.far);
  });
  Deadline limit = ample();
  write_all(pair.near.get(), pattern(1, 8), limit);
  std::vector<std::byte> memory(100);
  const std::string got = problem_of([&] { read_all(pair.near.get(), memory, limit); });
  other.join();
  EXPECT_TRUE(got == "disconnected: " + peer + " closed the connection after 0 of 100 bytes" ||
              got == "disconnected: an unknown address closed the connection after 0 of 100 bytes")
      << got;
}

TEST(WriteAll, to_a_peer_that_is_gone_is_disconnected) {
  ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  Pair pair;
  const std::string peer = to_string(peer_address(pair.near.get()));
  pair.far.reset();
  Deadline limit = ample();
  const std::string got =
      problem_of([&] { write_all(pair.near.get(), pattern(16 * 1024 * 1024, 9), limit); });
  EXPECT_EQ(got.rfind("disconnected: " + peer + " closed the connection after ", 0), 0U) << got;
}

TEST(Limits, of_reads_and_writes) {
  Pair pair;
  const std::string peer = to_string(peer_address(pair.near.get()));
  Deadline ample_limit = ample();
  write_all(pair.far.get(), pattern(3, 10), ample_limit);
  std::vector<std::byte> memory(8);
  const rondo::base::TimePoint begin = real_scheduler().now();
  Deadline limit = within(milliseconds(50));
  EXPECT_EQ(problem_of([&] { read_all(pair.near.get(), memory, limit); }),
            "timed_out: " + peer + " sent 3 of 8 bytes within 0.05 s");
  EXPECT_GE(real_scheduler().now() - begin, milliseconds(50));
  Deadline other = within(milliseconds(50));
  const std::string got =
      problem_of([&] { write_all(pair.near.get(), pattern(64 * 1024 * 1024, 11), other); });
  EXPECT_EQ(got.rfind("timed_out: " + peer + " took ", 0), 0U) << got;
  EXPECT_TRUE(contains(got, " of 67108864 bytes within 0.05 s")) << got;
  EXPECT_LT(real_scheduler().now() - begin, seconds(30));
}

TEST(Limits, one_that_has_run_out_still_takes_what_is_there) {
  Pair pair;
  Deadline limit = ample();
  write_all(pair.far.get(), pattern(3, 12), limit);
  ASSERT_TRUE(wait_ready(pair.near.get(), Ready::read, limit));
  Deadline none = within(milliseconds(0));
  EXPECT_TRUE(none.expired());
  EXPECT_TRUE(wait_ready(pair.near.get(), Ready::read, none));
  EXPECT_TRUE(wait_ready(pair.near.get(), Ready::write, none));
  EXPECT_FALSE(wait_ready(pair.far.get(), Ready::read, none));
}

void on_signal(int) {}

TEST(Limits, signals_neither_end_a_wait_nor_prolong_it) {
  struct sigaction action {};
  action.sa_handler = on_signal;  // without SA_RESTART: every call in progress is interrupted
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  const Pair pair;
  std::atomic<bool> over{false};
  bool ready = true;
  rondo::base::Duration took{};
  std::thread waiter([&] {
    Deadline limit = within(milliseconds(200));
    ready = wait_ready(pair.near.get(), Ready::read, limit);
    took = limit.elapsed();
    over = true;
  });
  while (!over) {
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(milliseconds(1));
  }
  waiter.join();
  EXPECT_FALSE(ready);
  EXPECT_GE(took, milliseconds(200));
  EXPECT_LT(took, seconds(30));
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(Descriptors, running_out_names_the_limit_and_leaks_nothing) {
  Listener listener(address_of("127.0.0.1:0"));
  const Address where = listener.bound();
  Deadline limit = ample();
  const Fd waiting = connect(where, limit);
  ASSERT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
  {
    const NoDescriptors none;
    EXPECT_EQ(problem_of([&] { (void)listener.accept(); }),
              "unavailable: cannot accept on " + to_string(where) + ": " + none.words());
    EXPECT_EQ(problem_of([&] { (void)connect(where, limit); }),
              "unavailable: cannot connect to " + to_string(where) + ": " + none.words());
    EXPECT_EQ(problem_of([&] { const Listener other(address_of("127.0.0.1:0")); }),
              "unavailable: cannot listen on 127.0.0.1:0: " + none.words());
  }
  EXPECT_TRUE(listener.accept());  // it was kept waiting, no more
}

}  // namespace
