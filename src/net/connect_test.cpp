// Listeners, and how connections to them come about.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "net/interface.hpp"
#include "net/socket.hpp"
#include "net/test_support.hpp"

namespace {

using namespace rondo::net;
using namespace rondo::net::testing_support;
using rondo::base::Deadline;
using rondo::base::Fd;
using rondo::base::real_scheduler;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A socket that has a port and does not listen: whoever connects is refused, and nobody else gets the port.
Fd bound_socket(const Address& where = address_of("127.0.0.1:0")) {
  Fd fd(::socket(where.family(), SOCK_STREAM, 0));  // like one inherited: blocking, not close-on-exec
  EXPECT_EQ(::bind(fd.get(), where.get(), where.length()), 0);
  return fd;
}

/// What an attempt comes to, whether it fails at once or later.
int outcome(const Address& to) {
  Deadline limit = ample();
  Fd fd;
  try {
    fd = begin_connect(to);
  } catch (const rondo::base::Problem& problem) {
    EXPECT_EQ(problem.kind(), rondo::ErrorKind::unavailable);
    return -1;
  }
  int result = connect_result(fd.get());
  while (result == EINPROGRESS && wait_ready(fd.get(), Ready::write, limit))
    result = connect_result(fd.get());
  return result;
}

TEST(Listener, takes_a_free_port_and_tells_it) {
  Listener one(address_of("127.0.0.1:0"));
  Listener other(address_of("127.0.0.1:0"));
  EXPECT_EQ(host_text(one.bound()), "127.0.0.1");
  EXPECT_NE(one.bound().port(), 0);
  EXPECT_NE(one.bound().port(), other.bound().port());
  EXPECT_FALSE(one.accept());
}

TEST(Listener, tells_who_connects) {
  Listener listener(address_of("127.0.0.1:0"));
  Deadline limit = ample();
  const Fd first = connect(listener.bound(), limit);
  const Fd second = connect(listener.bound(), limit);
  std::vector<Address> seen;
  while (seen.size() < 2 && wait_ready(listener.fd(), Ready::read, limit)) {
    Address from;
    if (listener.accept(&from)) seen.push_back(from);
  }
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_TRUE(seen[0] == local_address(first.get()));
  EXPECT_TRUE(seen[1] == local_address(second.get()));
  EXPECT_FALSE(listener.accept());
}

TEST(Listener, listens_on_no_other_address) {
  Listener listener(address_of("127.0.0.1:0"));
  Address other = address_of("127.0.0.2:0");
  other.set_port(listener.bound().port());
  (void)outcome(other);  // refused, unless somebody else happens to have this port there
  EXPECT_FALSE(listener.accept());
  EXPECT_EQ(outcome(listener.bound()), 0);
}

TEST(Listener, on_ipv6_takes_no_ipv4) {
  if (!has_v6()) GTEST_SKIP() << "this machine has no ::1";
  Listener listener(address_of("[::]:0"));
  Address v4 = address_of("127.0.0.1:0");
  v4.set_port(listener.bound().port());
  (void)outcome(v4);
  EXPECT_FALSE(listener.accept());
  Address v6 = address_of("[::1]:0");
  v6.set_port(listener.bound().port());
  Deadline limit = ample();
  const Fd fd = connect(v6, limit);
  ASSERT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
  Address from;
  EXPECT_TRUE(listener.accept(&from));
  EXPECT_EQ(host_text(from), "::1");
}

TEST(Listener, a_port_that_is_taken_is_named) {
  const Listener listener(address_of("127.0.0.1:0"));
  EXPECT_EQ(problem_of([&] { const Listener other(listener.bound()); }),
            "unavailable: cannot listen on " + to_string(listener.bound()) + ": Address already in use");
}

TEST(Listener, an_address_of_elsewhere_is_named) {
  EXPECT_EQ(problem_of([&] { const Listener other(address_of("192.0.2.77:0")); }),
            "unavailable: cannot listen on 192.0.2.77:0: Cannot assign requested address");
}

TEST(Listener, can_listen_again_at_once_where_connections_died) {
  Listener first(address_of("127.0.0.1:0"));
  const Address where = first.bound();
  Deadline limit = ample();
  Fd near = connect(where, limit);
  ASSERT_TRUE(wait_ready(first.fd(), Ready::read, limit));
  Fd far = first.accept();
  first = Listener(address_of("127.0.0.1:0"));
  far.reset();  // it closes first, so its port is the one that is kept
  std::byte byte[1];
  (void)problem_of([&] { read_all(near.get(), byte, limit); });
  near.reset();
  const Listener again(where);
  EXPECT_TRUE(again.bound() == where);
}

TEST(Listener, takes_over_an_inherited_one) {
  Fd inherited = bound_socket();
  ASSERT_EQ(::listen(inherited.get(), 4), 0);
  Listener listener(std::move(inherited));
  EXPECT_NE(fcntl(listener.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(fcntl(listener.fd(), F_GETFD), FD_CLOEXEC);
  EXPECT_FALSE(listener.accept());
  Deadline limit = ample();
  const Fd fd = connect(listener.bound(), limit);
  ASSERT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
  EXPECT_TRUE(listener.accept());
}

TEST(Listener, refuses_to_take_over_anything_else) {
  Fd idle = bound_socket();
  const std::string number = std::to_string(idle.get());
  EXPECT_EQ(
      problem_of([&] { const Listener listener(std::move(idle)); }),
      "unavailable: cannot listen on the inherited descriptor " + number + ": it is not a listening socket");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd other_end(ends[1]);
  EXPECT_TRUE(contains(problem_of([&] { const Listener listener{Fd(ends[0])}; }),
                       ": Socket operation on non-socket"));
  EXPECT_TRUE(
      contains(problem_of([&] { const Listener listener{Fd()}; }), "descriptor -1: Bad file descriptor"));
}

TEST(Connect, an_absent_peer_is_told_within_the_limit) {
  const Fd idle = bound_socket();
  const Address where = local_address(idle.get());
  Deadline limit = within(milliseconds(60));
  const std::string got = problem_of([&] { (void)connect(where, limit); });
  EXPECT_EQ(got.rfind("unavailable: cannot connect to " + to_string(where) + " from 127.0.0.1 on ", 0), 0U)
      << got;
  EXPECT_TRUE(contains(got, " within 0.06 s: Connection refused")) << got;
  EXPECT_GE(limit.elapsed(), milliseconds(60));
  EXPECT_LT(limit.elapsed(), seconds(30));
}

TEST(Connect, waits_for_a_listener_that_comes_later) {
  Fd idle = bound_socket();
  const Address where = local_address(idle.get());
  ASSERT_NE(outcome(where), 0);  // it is refused as yet
  Fd near;
  std::thread early([&] {
    Deadline limit = ample();
    near = connect(where, limit);
  });
  // Long enough for a few attempts as a rule; right too when there was none.
  std::this_thread::sleep_for(milliseconds(50));
  ASSERT_EQ(::listen(idle.get(), 4), 0);
  Listener listener(std::move(idle));
  Deadline limit = ample();
  ASSERT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
  const Fd far = listener.accept();
  early.join();
  ASSERT_TRUE(far);
  EXPECT_TRUE(peer_address(far.get()) == local_address(near.get()));
}

TEST(Connect, what_cannot_pass_is_told_at_once) {
  Deadline limit = within(seconds(60));
  const std::string got = problem_of([&] { (void)connect(Address(), limit); });
  EXPECT_EQ(got.rfind("unavailable: cannot connect to an unknown address: ", 0), 0U) << got;
  EXPECT_FALSE(limit.expired());
}

TEST(Connect, a_port_that_meets_itself_is_refused) {
  Fd fd = bound_socket();
  const Address own = local_address(fd.get());
  ASSERT_EQ(::connect(fd.get(), own.get(), own.length()), 0);
  EXPECT_EQ(connect_result(fd.get()), ECONNREFUSED);
  fd.reset();
  const Listener listener(own);  // the port is free again
  EXPECT_TRUE(listener.bound() == own);
}

TEST(Connect, the_steps_for_event_loops) {
  Listener listener(address_of("127.0.0.1:0"));
  Deadline limit = ample();
  const Fd fd = begin_connect(listener.bound());
  ASSERT_TRUE(wait_ready(fd.get(), Ready::write, limit));
  EXPECT_EQ(connect_result(fd.get()), 0);
  EXPECT_TRUE(peer_address(fd.get()) == listener.bound());
  const Fd idle = bound_socket();
  EXPECT_EQ(problem_of([&] { (void)peer_address(idle.get()); }),
            "unavailable: cannot tell the other end of a socket: Transport endpoint is not connected");
}

TEST(Connect, over_a_scoped_address) {
  const std::vector<Interface> all = list_interfaces();
  const auto scoped = [](const Interface& one) { return one.up && one.address.scope() != 0; };
  const auto found = std::find_if(all.begin(), all.end(), scoped);
  if (found == all.end()) GTEST_SKIP() << "this machine has no link-local address";
  Listener listener(found->address);
  const std::string text = to_string(listener.bound());
  EXPECT_TRUE(contains(text, "%" + found->name + "]:")) << text;
  Deadline limit = ample();
  const Fd fd = connect(address_of(text), limit);  // as another rank would read it
  ASSERT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
  Address from;
  EXPECT_TRUE(listener.accept(&from));
  EXPECT_EQ(from.scope(), found->address.scope());

  const Fd idle = bound_socket(found->address);
  const Address absent = local_address(idle.get());
  Deadline brief = within(milliseconds(20));
  const std::string got = problem_of([&] { (void)connect(absent, brief); });
  EXPECT_TRUE(contains(got, "cannot connect to [fe80:")) << got;
  EXPECT_TRUE(contains(got, "%" + found->name + "]:" + std::to_string(absent.port()))) << got;
}

}  // namespace
