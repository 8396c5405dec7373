#include "net/local.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "net/test_support.hpp"

namespace {

using namespace rondo::net;
using namespace rondo::net::testing_support;
using namespace std::chrono_literals;
using rondo::base::Deadline;
using rondo::base::Fd;

/// A name that is this test's.
std::string name_of(const char* what) { return fmt::format("rondo-test-{}-{}", what, getpid()); }

struct Ends {
  explicit Ends(const char* what = "ends") : listener(local_name(name_of(what))) {
    Deadline limit = ample();
    near = connect_locally(name_of(what), limit);
    EXPECT_TRUE(near);
    EXPECT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
    far = listener.accept();
    EXPECT_TRUE(far);
  }
  Listener listener;
  Fd near;
  Fd far;
};

bool same_file(int a, int b) {
  struct stat one {};
  struct stat two {};
  return fstat(a, &one) == 0 && fstat(b, &two) == 0 && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

bool readable(int fd, int limit_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, limit_ms) == 1 && (entry.revents & POLLIN) != 0;
}

TEST(Local, carries_bytes_both_ways_and_knows_what_it_is) {
  const Ends ends;
  Deadline limit = ample();
  const auto there = pattern(3000, 1);
  const auto back = pattern(500, 2);
  write_all(ends.near.get(), there, limit);
  write_all(ends.far.get(), back, limit);
  std::vector<std::byte> got(3000);
  read_all(ends.far.get(), got, limit);
  EXPECT_EQ(got, there);
  got.resize(500);
  read_all(ends.near.get(), got, limit);
  EXPECT_EQ(got, back);
  for (const int fd : {ends.near.get(), ends.far.get()}) {
    EXPECT_TRUE(is_local(fd));
    EXPECT_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_EQ(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
  }
  const Pair tcp;
  EXPECT_FALSE(is_local(tcp.near.get()));
  EXPECT_FALSE(is_local(STDIN_FILENO));
  EXPECT_FALSE(is_local(-1));
}

// Names are no paths: nothing is left, and only the whole name is the name.
TEST(Local, a_name_is_exactly_its_bytes_and_ends_with_its_listener) {
  Deadline limit = ample();
  const std::string longest = name_of("long") + std::string(100 - name_of("long").size(), 'x');
  {
    const Listener one(local_name(longest));
    const Listener other(local_name(longest.substr(0, 99)));
    EXPECT_TRUE(connect_locally(longest, limit));
    EXPECT_FALSE(connect_locally(longest.substr(0, 98), limit));
    EXPECT_FALSE(std::filesystem::exists(longest));
    EXPECT_FALSE(readable(other.fd(), 0));
    // Taken is taken.
    EXPECT_TRUE(contains(problem_of([&] { const Listener again{local_name(longest)}; }), "unavailable"));
  }
  EXPECT_FALSE(connect_locally(longest, limit));
  EXPECT_NO_THROW(const Listener again{local_name(longest)});
}

TEST(Local, nobody_listens) {
  Deadline limit = ample();
  EXPECT_FALSE(connect_locally(name_of("nobody"), limit));
  Deadline over = within(0ns);
  EXPECT_FALSE(connect_locally(name_of("nobody"), over));
}

TEST(Local, who_finds_no_place_waits_until_the_limit) {
  const Listener listener(local_name(name_of("full")), 1);
  std::vector<Fd> waiting;
  const std::string text = problem_of([&] {
    for (int i = 0; i < 100; ++i) {
      Deadline limit = within(20ms);
      waiting.push_back(connect_locally(name_of("full"), limit));
      ASSERT_TRUE(waiting.back());
    }
  });
  EXPECT_TRUE(contains(text, "unavailable") && contains(text, "too many others")) << text;
}

// --- the process at the other end
// ---------------------------------------------------------------------------

TEST(Local, a_process_is_seen_to_end_though_its_child_holds_the_socket) {
  const std::string name = name_of("parent");
  Listener listener(local_name(name));
  std::array<int, 2> go{};
  ASSERT_EQ(pipe2(go.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    Deadline limit = ample();
    const Fd fd = connect_locally(name, limit);
    if (!fd) _exit(3);
    if (fork() == 0) {
      close(go[1]);
      char byte = 0;
      (void)!read(go[0], &byte, 1);  // lives on, with the socket, until the test is over
      _exit(0);
    }
    pause();
    _exit(4);
  }
  Fd over(go[1]);
  Deadline limit = ample();
  ASSERT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
  const Fd far = listener.accept();
  const Fd process = peer_process(far.get());
  ASSERT_TRUE(process);
  EXPECT_FALSE(readable(process.get(), 20));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  EXPECT_TRUE(readable(process.get(), 1000));
  EXPECT_FALSE(readable(far.get(), 0));  // the socket alone would not tell
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  // Even who asks only now is told: the number belongs to nobody any more.
  const Fd late = peer_process(far.get());
  ASSERT_TRUE(late);
  EXPECT_TRUE(readable(late.get(), 0));
  over.reset();
  EXPECT_TRUE(readable(far.get(), 10'000));  // and now the grandchild is gone too
  close(go[0]);
}

TEST(Local, the_listening_process_is_known_to_who_connects) {
  const Ends ends;
  const Fd process = peer_process(ends.near.get());
  ASSERT_TRUE(process);
  EXPECT_FALSE(readable(process.get(), 0));
  EXPECT_EQ(fcntl(process.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  const Pair tcp;
  EXPECT_FALSE(peer_process(tcp.near.get()));
}

// --- descriptors
// --------------------------------------------------------------------------------------------

TEST(Local, descriptors_pass_each_as_itself) {
  const Ends ends;
  Deadline limit = ample();
  const std::array<Fd, 2> sent{Fd(memfd_create("one", MFD_CLOEXEC)), Fd(memfd_create("two", MFD_CLOEXEC))};
  const auto around = pattern(7, 3);
  for (const Fd& each : sent) {
    send_descriptor(ends.near.get(), each.get(), limit);
    write_all(ends.near.get(), around, limit);
  }
  for (const Fd& each : sent) {
    const Fd got = receive_descriptor(ends.far.get(), limit);
    EXPECT_NE(got.get(), each.get());
    EXPECT_TRUE(same_file(got.get(), each.get()));
    EXPECT_EQ(fcntl(got.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    std::vector<std::byte> bytes(7);
    read_all(ends.far.get(), bytes, limit);
    EXPECT_EQ(bytes, around);
  }
}

TEST(Local, a_descriptor_that_does_not_come) {
  Ends ends;
  Deadline soon = within(20ms);
  EXPECT_TRUE(contains(problem_of([&] { (void)receive_descriptor(ends.far.get(), soon); }), "timed_out"));
  Deadline limit = ample();
  write_all(ends.near.get(), pattern(1, 1), limit);  // a byte with nothing
  EXPECT_TRUE(contains(problem_of([&] { (void)receive_descriptor(ends.far.get(), limit); }), "disconnected"));
  ends.near.reset();
  const std::string text = problem_of([&] { (void)receive_descriptor(ends.far.get(), limit); });
  EXPECT_TRUE(contains(text, "disconnected") && contains(text, "hung up")) << text;
  EXPECT_TRUE(contains(problem_of([&] { send_descriptor(ends.far.get(), 0, limit); }), "disconnected"));
}

TEST(Local, who_takes_no_descriptor_is_given_up_at_the_limit) {
  const Ends ends;
  const std::string text = problem_of([&] {
    for (int i = 0; i < 100'000; ++i) {
      Deadline soon = within(20ms);
      send_descriptor(ends.near.get(), STDIN_FILENO, soon);
    }
  });
  EXPECT_TRUE(contains(text, "timed_out") || contains(text, "descriptor")) << text;
}

// Two at once, from somebody who does not play by the rules: one is taken, none leaks.
TEST(Local, more_than_one_descriptor_does_not_leak) {
  const Ends ends;
  const std::array<int, 2> both{STDIN_FILENO, STDOUT_FILENO};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof both)> control{};
  char byte = 'f';
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof both);
  std::memcpy(CMSG_DATA(head), both.data(), sizeof both);
  const std::size_t before = open_descriptors();
  ASSERT_EQ(sendmsg(ends.near.get(), &message, 0), 1);
  Deadline limit = ample();
  try {
    const Fd got = receive_descriptor(ends.far.get(), limit);
    EXPECT_TRUE(same_file(got.get(), both[0]));
  } catch (const rondo::base::Problem&) {
    // Refusing them is as good.
  }
  EXPECT_EQ(open_descriptors(), before);
}

/// No more descriptors than are open now, for a while.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const Fd next(eventfd(0, EFD_CLOEXEC));
    rlimit few = before_;
    few.rlim_cur = limit_ = static_cast<rlim_t>(next.get());
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    // Holes below: filled, so that there is none left at all.
    for (int fd = eventfd(0, EFD_CLOEXEC); fd >= 0; fd = eventfd(0, EFD_CLOEXEC)) fill_.emplace_back(fd);
  }
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;
  rlim_t limit() const noexcept { return limit_; }

 private:
  rlimit before_{};
  rlim_t limit_ = 0;
  std::vector<Fd> fill_;
};

TEST(Local, where_descriptors_have_run_out_the_words_say_so) {
  Ends ends;
  Deadline limit = ample();
  send_descriptor(ends.near.get(), STDIN_FILENO, limit);
  send_descriptor(ends.near.get(), ends.listener.fd(), limit);
  {
    const NoMoreDescriptors none;
    const std::string limit_words = fmt::format("the limit of this process is {}", none.limit());
    const std::string text = problem_of([&] { (void)receive_descriptor(ends.far.get(), limit); });
    EXPECT_TRUE(contains(text, "disconnected") && contains(text, limit_words)) << text;
    const std::string other = problem_of([&] { (void)connect_locally(name_of("ends"), limit); });
    EXPECT_TRUE(contains(other, "unavailable") && contains(other, limit_words)) << other;
  }
  // The connection is as good as before.
  EXPECT_TRUE(same_file(receive_descriptor(ends.far.get(), limit).get(), ends.listener.fd()));
}

// --- where there are none
// -----------------------------------------------------------------------------------

// Another network namespace has names of its own.
TEST(Local, names_of_another_network_are_not_seen) {
  const Listener listener(local_name(name_of("elsewhere")));
  bool could = false;
  Fd fd;
  std::thread apart([&] {
    could = unshare(CLONE_NEWNET) == 0;
    if (!could) return;
    Deadline limit = ample();
    fd = connect_locally(name_of("elsewhere"), limit);
  });
  apart.join();
  if (!could) GTEST_SKIP() << "this process may not make a network namespace";
  EXPECT_FALSE(fd);
}

}  // namespace
