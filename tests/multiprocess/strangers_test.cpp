// Who is not of the job gets nothing, delays nobody, and breaks nothing; and the job listens where it was
// told.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <set>
#include <string>

#include "base/fd.hpp"
#include "control/handshake.hpp"
#include "multiprocess/backends.hpp"
#include "net/address.hpp"

namespace rondo::test {
namespace {

/// Connections that strangers have opened and go on holding.
class Strangers {
 public:
  /// `count` at this place, of all kinds by turns.
  void come_to(const std::string& place, int count) {
    const net::Address address = net::resolve(net::parse_host_port(place)).front();
    for (int i = 0; i < count; ++i) {
      base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(address.port());
      ASSERT_EQ(inet_pton(AF_INET, place.substr(0, place.find(':')).c_str(), &to.sin_addr), 1);
      const int result = connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
      ASSERT_TRUE(result == 0 || errno == EINPROGRESS);
      if (result == 0) speak(socket.get(), i);
      if (i % kinds != scanner) held_.push_back(std::move(socket));
    }
  }

 private:
  static constexpr int kinds = 5;
  static constexpr int scanner = 0;

  void speak(int socket, int number) {
    std::string words;
    switch (number % kinds) {
      case scanner:  // connects and hangs up
      case 1:        // says nothing, ever
        return;
      case 2:  // an HTTP request
        words = "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a browser\r\n\r\n";
        break;
      case 3:  // garbage
        for (int i = 0; i < 300; ++i) words += static_cast<char>(draw_());
        break;
      default: {  // the first half of a handshake
        control::Identity nobody;
        nobody.rank = 1;
        nobody.size = 3;
        control::Handshake handshake(control::Handshake::Role::opener,
                                     control::hello_of(nobody, control::Purpose::control), "");
        const auto hello = handshake.outgoing();
        words.assign(reinterpret_cast<const char*>(hello.data()), hello.size() / 2);
      }
    }
    (void)send(socket, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  std::vector<base::Fd> held_;
  std::mt19937 draw_{3};
};

constexpr int size = 3;
constexpr int many = 200;

class StrangersAt : public OverBackends {
 protected:
  static void need_right_results(const Group& group, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::int64_t> data = numbers(2000, round + group.rank());
      group.all_sum(data);
      NEED(data == summed_numbers(2000, round, size));
    }
  }
  /// All places where these ranks listen; each listens somewhere.
  static std::set<std::string> places_of(const Job& job, const std::vector<int>& ranks) {
    std::set<std::string> all;
    for (const int rank : ranks) {
      const bool listens = comes_true([&] { return !listening(job.pid(rank)).empty(); });
      EXPECT_TRUE(listens) << "rank " << rank;
      all.merge(listening(job.pid(rank)));
    }
    return all;
  }
};
OVER_ALL_BACKENDS(StrangersAt);

// 200 at every port while rank 2 is still missing, then it comes.
void come_during_set_up(Job& job, const std::function<std::set<std::string>()>& places) {
  const Board board;
  const auto rank_main = [&](int) {
    const std::int64_t begin = now_ns();
    const Group group = init(true);
    board.value(group.rank()) = ms_since(begin);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::int64_t> data = numbers(2000, round + group.rank());
      group.all_sum(data);
      NEED(data == summed_numbers(2000, round, size));
    }
    group.shutdown();
  };
  Strangers strangers;
  job.start_process(0, rank_main);
  job.start_process(1, rank_main);
  for (const std::string& place : places()) strangers.come_to(place, many);
  job.start_process(2, rank_main);
  job.expect_right();
  EXPECT_LT(board.value(2), 3000) << "ms that set-up took";
}

TEST_P(StrangersAt, EveryPortDuringSetUp) {
  Job job(size, backend(), {{"RONDO_LOG", "off"}, {"RONDO_INTERFACE", "lo"}});
  come_during_set_up(job, [&] { return places_of(job, {0, 1}); });
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(job.words(rank), "");
}

TEST_P(StrangersAt, TheRendezvousDuringSetUp) {
  const HeldPort port;
  Job job(size, backend(), {{"RONDO_RENDEZVOUS", port.place()}});
  come_during_set_up(job, [&] {
    EXPECT_TRUE(comes_true([&] { return listening(job.pid(0)).contains(port.place()); }));
    return places_of(job, {0, 1});
  });
  EXPECT_NE(job.words(0).find("dropped a connection from"), std::string::npos) << job.words(0);
}

TEST_P(StrangersAt, EveryPortWhileTheJobRuns) {
  const Board board;
  Job job(size, backend(), {{"RONDO_LOG", "off"}, {"RONDO_INTERFACE", "lo"}});
  job.start_all([&](const Group& group) {
    board.raise(0);
    const std::int64_t begin = now_ns();
    for (std::uint32_t round = 0; round < 50 || board.count(1) == 0; ++round) {
      // All leave together: rank 0 says when.
      std::vector<std::int64_t> more{group.rank() == 0 && (round < 50 || board.count(1) == 0) ? 1 : 0};
      group.broadcast(more, 0);
      if (more[0] == 0) break;
      need_right_results(group, 10);
    }
    (void)begin;
    // New connections are still let in, soon.
    const std::int64_t split_begin = now_ns();
    const auto again = group.split(0);
    NEED(ms_since(split_begin) < 3000);
    need_right_results(*again, 10);
  });
  board.await(0, size);
  Strangers strangers;
  for (const std::string& place : places_of(job, {0, 1, 2})) strangers.come_to(place, many);
  board.raise(1);
  job.expect_right();
}

// ---- where a job listens
// -----------------------------------------------------------------------------------

class Listens : public OverBackends {
 protected:
  /// After set-up: what each rank listens at, the port cut off.
  static std::vector<std::set<std::string>> hosts_of(Job& job) {
    const Board board;
    job.start_all([&](const Group& group) {
      group.barrier();
      board.raise(0);
      board.await(1);
    });
    board.await(0, static_cast<std::uint32_t>(job.size()));
    std::vector<std::set<std::string>> hosts;
    for (int rank = 0; rank < job.size(); ++rank) {
      std::set<std::string> mine;
      for (const std::string& place : listening(job.pid(rank)))
        mine.insert(place.substr(0, place.rfind(':')));
      hosts.push_back(mine);
    }
    board.raise(1);
    job.expect_right();
    return hosts;
  }
};
OVER_ALL_BACKENDS(Listens);

using Hosts = std::set<std::string>;

TEST_P(Listens, AtTheInterfaceAskedFor) {
  Job job(2, backend(), {{"RONDO_INTERFACE", "127.0.0.0/8"}});
  for (const Hosts& hosts : hosts_of(job)) EXPECT_EQ(hosts, Hosts{"127.0.0.1"});
}

TEST_P(Listens, AtTheAddressOfTheRendezvous) {
  const HeldPort port("127.0.0.2");
  Job job(2, backend(), {{"RONDO_RENDEZVOUS", port.place()}});
  const auto hosts = hosts_of(job);
  EXPECT_EQ(hosts[0], Hosts{"127.0.0.2"});
  EXPECT_EQ(hosts[1], Hosts{"127.0.0.1"});  // where packets to it leave from
}

TEST_P(Listens, OverIPv6) {
  if (access("/proc/net/if_inet6", R_OK) != 0) GTEST_SKIP() << "no IPv6 here";
  const HeldPort port("::1");
  Job job(2, backend(), {{"RONDO_RENDEZVOUS", port.place()}});
  for (const Hosts& hosts : hosts_of(job)) EXPECT_EQ(hosts, Hosts{"[::1]"});
}

TEST_P(Listens, NowhereForAnybody) {
  Job job(2, backend());
  for (const Hosts& hosts : hosts_of(job)) {
    EXPECT_FALSE(hosts.contains("0.0.0.0"));
    EXPECT_FALSE(hosts.contains("[::]"));
  }
}

TEST_P(Listens, AnUnknownInterfaceListsWhatThereIs) {
  Job job(1, backend(), {{"RONDO_INTERFACE", "nosuch7"}, {"RONDO_INIT_TIMEOUT", "1"}});
  job.set("RONDO_SIZE", "2");
  job.start_process(0, [](int) {
    const Error error = thrown_by([] { (void)init(true); });
    const std::string text = error.what();
    NEED_OR(error.kind() == ErrorKind::invalid_argument, text);
    NEED_OR(text.find("nosuch7") != std::string::npos && text.find("lo ") != std::string::npos, text);
  });
  job.expect_right();
}

}  // namespace
}  // namespace rondo::test
