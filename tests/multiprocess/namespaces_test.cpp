// Ranks on two hosts, as far as one machine can play them: two network namespaces and a wire between them.

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/fd.hpp"
#include "multiprocess/backends.hpp"
#include "support/reference.hpp"
#include "support/values.hpp"

namespace rondo::test {
namespace {

using std::chrono::milliseconds;

bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Two hosts, "a" and "b", and the wire between them: 10.77.0.1 and fd77::1 on wire-a, 10.77.0.2 and fd77::2
/// on wire-b. Each has its own loopback. Ports there are nobody else's.
class TwoHosts {
 public:
  TwoHosts() : a_(fmt::format("rondo-a-{}", getpid())), b_(fmt::format("rondo-b-{}", getpid())) {
    ready_ = run("ip netns add " + a_) && run("ip netns add " + b_) &&
             run(fmt::format("ip link add wire-a netns {} type veth peer name wire-b netns {}", a_, b_)) &&
             set_up(a_, "wire-a", 1) && set_up(b_, "wire-b", 2);
  }
  ~TwoHosts() {
    run("ip netns del " + a_);
    run("ip netns del " + b_);
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  bool ready() const noexcept { return ready_; }
  /// Moves this process to a host.
  void move_to(char host) const {
    const std::string path = "/run/netns/" + (host == 'a' ? a_ : b_);
    const base::Fd space(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    NEED_OR(space && setns(space.get(), CLONE_NEWNET) == 0, path);
  }
  /// How both ends of the wire treat what they send (tc's words).
  bool shape(const std::string& words) const {
    return run(fmt::format("ip netns exec {} tc qdisc replace dev wire-a root {}", a_, words)) &&
           run(fmt::format("ip netns exec {} tc qdisc replace dev wire-b root {}", b_, words));
  }
  bool cut() const { return run("ip -n " + a_ + " link set wire-a down"); }

 private:
  static bool set_up(const std::string& name, const std::string& wire, int number) {
    (void)run(fmt::format("ip -n {} addr add fd77::{}/64 dev {} nodad", name, number, wire));
    return run(fmt::format("ip -n {} addr add 10.77.0.{}/24 dev {}", name, number, wire)) &&
           run(fmt::format("ip -n {} link set {} up", name, wire)) &&
           run(fmt::format("ip -n {} link set lo up", name));
  }

  std::string a_;
  std::string b_;
  bool ready_ = false;
};

constexpr int size = 3;
char host_of(int rank) { return rank == 2 ? 'b' : 'a'; }

class TwoHostsApart : public testing::Test {
 protected:
  void SetUp() override {
    hosts_.emplace();
    if (!hosts_->ready()) GTEST_SKIP() << "network namespaces cannot be made here (ip netns, veth)";
  }
  const TwoHosts& hosts() const { return *hosts_; }

  Job::ProcessMain joined(const Job::RankMain& rank_main) const {
    return [this, &rank_main](int rank) {
      hosts().move_to(host_of(rank));
      const Group group = init(true);
      rank_main(group);
      group.shutdown();
    };
  }
  void run_right(Job& job, const Job::RankMain& rank_main) const {
    job.start_processes(joined(rank_main));
    job.expect_right();
  }

 private:
  std::optional<TwoHosts> hosts_;
};

void need_same(ConstView got, ConstView expected) {
  const auto result = same_elements(got, expected);
  NEED_OR(static_cast<bool>(result), result.message());
}

/// Every kind of call, some sizes: what the conformance suite asks, in short.
void need_conformance(const Group& group) {
  NEED(group.size() == size && group.backend() == Backend::tcp);
  NEED(group.local_size() == (group.rank() == 2 ? 1 : 2));
  for (const std::int64_t count : {1, 1000, 60'000}) {
    const Shape shape{count};
    const auto all = values_of_all(size, DType::float32, shape, Content::bits, 9);
    const Tensor& mine = all[static_cast<std::size_t>(group.rank())];
    need_same(group.all_max(mine), reference_reduce(all, ReduceOp::max));
    std::vector<std::int64_t> sum = numbers(static_cast<std::size_t>(count), group.rank());
    group.all_sum(sum);
    NEED(sum == summed_numbers(static_cast<std::size_t>(count), 0, size));
    for (int root = 0; root < size; ++root) {
      need_same(group.broadcast(mine, root), all[static_cast<std::size_t>(root)]);
    }
    need_same(group.all_gather(mine), reference_concat(all));
    std::vector<std::int64_t> in(static_cast<std::size_t>(count));
    const int next = (group.rank() + 1) % size;
    const int previous = (group.rank() + 2) % size;
    group.sendrecv(numbers(in.size(), group.rank()), next, in, previous);
    NEED(in == numbers(in.size(), previous));
    group.barrier();
  }
  const auto ends = group.subgroup({2, 0});
  if (ends) {
    std::vector<std::int64_t> data = numbers(5000, ends->rank());
    ends->all_sum(data);
    NEED(data == summed_numbers(5000, 0, 2));
  }
}

TEST_F(TwoHostsApart, CallsGiveRightResults) {
  Job job(size);  // any: they do not share a host, so tcp
  run_right(job, need_conformance);
  job.expect_clean();
}

TEST_F(TwoHostsApart, CallsGiveRightResultsOverAWireWithDelayAndLoss) {
  if (!hosts().shape("netem delay 5ms loss 1%")) {
    // Where the kernel has no netem: a short queue behind a slow wire delays, and drops what does not fit.
    ASSERT_TRUE(hosts().shape("tbf rate 60mbit burst 6kb latency 4ms"));
  }
  Job job(size);
  run_right(job, need_conformance);
}

TEST_F(TwoHostsApart, SharedMemoryAcrossHostsIsRefused) {
  Job job(size, Backend::shm, {{"RONDO_INIT_TIMEOUT", "3"}});
  job.start_processes([&](int rank) {
    hosts().move_to(host_of(rank));
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(error.kind() == ErrorKind::unavailable, error.what());
    NEED_OR(std::string(error.what()).find("shm") != std::string::npos, error.what());
  });
  job.expect_right();
}

TEST_F(TwoHostsApart, InterfacesAreChosenByNameAndPrefixAndExclusion) {
  for (const char* choice : {"wire-a,wire-b", "wire", "^lo", "10.77.0.0/16", "fd77::/64"}) {
    SCOPED_TRACE(choice);
    Job job(size);
    const bool six = std::string(choice).find("fd77") == 0;
    job.start_processes([&](int rank) {
      if (std::string(choice) == "wire-a,wire-b") {
        setenv("RONDO_INTERFACE", host_of(rank) == 'a' ? "wire-a" : "wire-b", 1);
      } else {
        setenv("RONDO_INTERFACE", choice, 1);
      }
      joined([&](const Group& group) {
        std::vector<std::int64_t> data = numbers(1000, group.rank());
        group.all_sum(data);
        NEED(data == summed_numbers(1000, 0, size));
        const std::string v4 = host_of(rank) == 'a' ? "10.77.0.1:" : "10.77.0.2:";
        const std::string v6 = host_of(rank) == 'a' ? "[fd77::1]:" : "[fd77::2]:";
        const auto places = listening(getpid());
        NEED(!places.empty());
        for (const std::string& place : places) NEED_OR(place.find(six ? v6 : v4) == 0, place);
      })(rank);
    });
    job.expect_right();
  }
}

// Rank 0 serves at its end of the wire; the others tell the address that packets to it leave from.
TEST_F(TwoHostsApart, AddressesAreChosenByTheRouteToTheRoot) {
  for (const char* root : {"10.77.0.1:7000", "[fd77::1]:7000"}) {
    SCOPED_TRACE(root);
    Job job(size, Backend::any, {{"RONDO_RENDEZVOUS", root}});
    run_right(job, [&](const Group& group) {
      std::vector<std::int64_t> data = numbers(1000, group.rank());
      group.all_sum(data);
      NEED(data == summed_numbers(1000, 0, size));
      const std::string end = host_of(group.rank()) == 'a' ? "1" : "2";
      for (const std::string& place : listening(getpid())) {
        NEED_OR(place.find("10.77.0." + end + ":") == 0 || place.find("[fd77::" + end + "]:") == 0, place);
      }
    });
  }
}

TEST_F(TwoHostsApart, ALoopbackAddressIsNotToldToAnotherHost) {
  Job job(size, Backend::any, {{"RONDO_INIT_TIMEOUT", "3"}});
  job.start_processes([&](int rank) {
    hosts().move_to(host_of(rank));
    if (rank == 0) setenv("RONDO_INTERFACE", "lo", 1);
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(error.kind() == ErrorKind::unavailable, error.what());
    NEED_OR(std::string(error.what()).find("loopback") != std::string::npos, error.what());
  });
  job.expect_right();
}

// "localhost" is another machine on every machine: a rank elsewhere says where it looked.
TEST_F(TwoHostsApart, AHostnameThatIsLoopbackJoinsNobodyElsewhere) {
  Job job(size, Backend::any, {{"RONDO_RENDEZVOUS", "localhost:7000"}, {"RONDO_INIT_TIMEOUT", "1"}});
  job.start_processes([&](int rank) {
    hosts().move_to(host_of(rank));
    const Error error = thrown_by([] { (void)init(true); });
    const std::string text = error.what();
    if (rank == 2) {
      NEED_OR(text.find("localhost:7000") != std::string::npos, text);
    } else {
      NEED_OR(text.find("missing rank 2") != std::string::npos, text);
    }
  });
  job.expect_right();
}

TEST_F(TwoHostsApart, AnAddressThatNobodyHasIsNamed) {
  Job job(2, Backend::any, {{"RONDO_RENDEZVOUS", "10.77.0.99:7000"}, {"RONDO_INIT_TIMEOUT", "500ms"}});
  job.start_process(1, [&](int) {
    hosts().move_to('b');
    const std::int64_t begin = now_ns();
    const Error error = thrown_by([] { (void)init(true); });
    NEED_OR(std::string(error.what()).find("10.77.0.99:7000") != std::string::npos, error.what());
    NEED_OR(error.kind() == ErrorKind::timed_out || error.kind() == ErrorKind::unavailable, error.what());
    NEED(ms_since(begin) < 900);
  });
  job.expect_right();
}

// ---- a wire that fails
// -------------------------------------------------------------------------------------

constexpr milliseconds limit(1000);
constexpr std::int64_t latest = limit.count() * 12 / 10 + 300;

/// Calls over and over until an error comes, within the limit of the call that it ends.
void need_an_end(const Board& board, const std::function<void()>& call) {
  std::int64_t begin = 0;
  const Error error = thrown_by([&] {
    for (;;) {
      begin = now_ns();
      call();
      board.raise(0);
    }
  });
  NEED_OR(error.kind() == ErrorKind::timed_out || error.kind() == ErrorKind::disconnected, error.what());
  NEED_OR(ms_since(begin) <= latest,
          std::string(error.what()) + " after ms: " + std::to_string(ms_since(begin)));
}

TEST_F(TwoHostsApart, AWireThatIsCutInsideACollectiveEndsItWithinTheLimit) {
  const Board board;
  Job job(size);
  job.start_processes(joined([&](Group group) {
    group.set_timeout(limit);
    std::vector<std::int64_t> data = numbers(1 << 17, group.rank());
    need_an_end(board, [&] { group.all_sum(data); });
  }));
  board.await(0, 4 * size);
  ASSERT_TRUE(hosts().cut());
  job.expect_right();
}

TEST_F(TwoHostsApart, AWireThatIsCutInsideAMessageEndsItWithinTheLimit) {
  const Board board;
  Job job(size);
  job.start_processes(joined([&](Group group) {
    group.barrier();
    group.set_timeout(limit);
    std::vector<std::int64_t> data = numbers(1 << 20, group.rank());
    if (group.rank() == 0) need_an_end(board, [&] { group.send(data, 2); });
    if (group.rank() == 2) need_an_end(board, [&] { group.recv_into(data, 0); });
  }));
  board.await(0, 3);
  ASSERT_TRUE(hosts().cut());
  job.expect_right();
}

// Bytes arrive all the time, but not fast enough: the limit is that of the whole call.
TEST_F(TwoHostsApart, ASlowWireDoesNotProlongTheLimit) {
  const Board board;
  Job job(size);
  job.start_processes(joined([&](const Group& group) {
    group.barrier();
    board.raise(0);
    board.await(1);
    if (group.rank() == 1) return;
    std::vector<std::int64_t> data = numbers(1 << 18, group.rank());
    const std::int64_t begin = now_ns();
    const Error error = thrown_by([&] {
      if (group.rank() == 0) group.send(data, 2, {.timeout = limit});
      if (group.rank() == 2) group.recv_into(data, 0, {.timeout = limit});
    });
    const std::int64_t took = ms_since(begin);
    board.raise(2);
    board.await(2, 2);  // neither leaves before the other's limit
    NEED_OR(error.kind() == ErrorKind::timed_out, error.what());
    NEED_OR(took >= limit.count() - 10 && took <= latest,
            std::string(error.what()) + " after ms: " + std::to_string(took));
  }));
  board.await(0, size);
  ASSERT_TRUE(hosts().shape("tbf rate 1mbit burst 3kb latency 50ms"));
  board.raise(1);
  job.expect_right();
}

}  // namespace
}  // namespace rondo::test
