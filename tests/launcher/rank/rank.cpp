// What the ranks of launcher_tests do: launcher_rank TASK. Everything comes from the environment, as for a
// user.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <rondo/rondo.hpp>
#include <string>
#include <vector>

namespace {

using rondo::Config;
using rondo::Group;

constexpr int wrong = 3;

int sum(const Group& group) {
  std::vector<std::int64_t> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int64_t>(i) * 7 + group.rank() * 100;
  group.all_sum(values);
  const std::int64_t size = group.size();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<std::int64_t>(i) * 7 * size + 100 * size * (size - 1) / 2) return wrong;
  return 0;
}

int report(const Group& group, int result) {
  std::printf("rank %d of %d over %s: %s\n", group.rank(), group.size(),
              std::string(rondo::to_string(group.backend())).c_str(), result == 0 ? "right" : "wrong");
  return result;
}

int join_and_sum() {
  const Group group = rondo::init(true);
  const int result = sum(group);
  group.shutdown();
  return report(group, result);
}

int join_often() {
  int result = 0;
  for (int round = 0; round < 20 && result == 0; ++round) {
    const Group group = rondo::init(true);
    result = sum(group);
    group.shutdown();
  }
  std::printf("20 times %s\n", result == 0 ? "right" : "wrong");
  return result;
}

// Calls until an error comes; prints it.
int sum_until_error(const Group& group) {
  std::vector<float> values(100'000, static_cast<float>(group.rank()));
  try {
    group.barrier();
    for (;;) group.all_max(values);
  } catch (const rondo::Error& error) {
    std::printf("told: %s\n", error.what());
    std::printf("cause: rank %d\n", group.failure() ? group.failure()->rank : -1);
    return 0;
  }
}

int one_is_killed() {
  const Group group = rondo::init(true);
  if (group.rank() == 2) {
    group.barrier();
    (void)::raise(SIGKILL);
  }
  return sum_until_error(group);
}

int one_gives_up() {
  const Group group = rondo::init(true);
  if (group.rank() == 1) {
    group.barrier();
    std::_Exit(5);
  }
  return sum_until_error(group);
}

// Nobody catches anything.
int one_throws() {
  const Group group = rondo::init(true);
  group.barrier();
  if (group.rank() == 1) std::_Exit(6);
  std::vector<float> values(1000);
  for (;;) group.all_sum(values);
}

int one_never_joins() {
  if (*Config::from_env().rank == 1) return 7;
  try {
    (void)rondo::init(true);
  } catch (const rondo::Error& error) {
    std::printf("told: %s\n", error.what());
  }
  return 0;
}

int one_leaves_early() {
  const Group group = rondo::init(true);
  const std::vector<int> data{group.rank(), 5, 9};
  if (group.rank() == 0) {
    group.send(data, 1);
    return 0;
  }
  if (group.rank() == 1) (void)group.recv<int>({3}, 0);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> in(3);
    group.sendrecv(data, 3 - group.rank(), in, 3 - group.rank());
    if (in[0] != 3 - group.rank()) return wrong;
  }
  std::printf("done\n");
  return 0;
}

int one_has_another_secret() {
  Config config = Config::from_env();
  if (*config.rank == 1) {
    // One character is another.
    std::vector<char> secret(64);
    if (::pread(*config.secret_fd, secret.data(), secret.size(), 0) != 64) return wrong;
    secret[17] = secret[17] == 'a' ? 'b' : 'a';
    std::FILE* const file = std::tmpfile();
    std::fwrite(secret.data(), 1, secret.size(), file);
    std::fflush(file);
    config.secret_fd = ::fileno(file);
  }
  try {
    (void)rondo::init(config);
    return wrong;
  } catch (const rondo::Error& error) {
    std::printf("told: %s\n", error.what());
    return *config.rank == 1 ? 8 : 0;
  }
}

int port_of(const std::string& address) { return std::atoi(address.substr(address.find(':') + 1).c_str()); }

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) std::_Exit(wrong);
  return fd;
}

// Silence, garbage and scans at both of the launcher's ports; all connections that stay open stay so.
int with_strangers() {
  const Config config = Config::from_env();
  const auto disturb = [&] {
    for (const int port : {port_of(config.rendezvous), port_of(config.launcher)}) {
      for (int i = 0; i < 40; ++i) (void)connect_to(port);
      const int talker = connect_to(port);
      (void)!::write(talker, "GET / HTTP/1.1\r\nHost: nobody\r\n\r\n", 33);
      for (int i = 0; i < 40; ++i) (void)::close(connect_to(port));
    }
  };
  if (*config.rank == 0) disturb();
  const Group group = rondo::init(true);
  if (*config.rank == 0) disturb();
  int result = 0;
  for (int round = 0; round < 50 && result == 0; ++round) result = sum(group);
  group.shutdown();
  return report(group, result);
}

const std::map<std::string, std::function<int()>> tasks = {
    {"sum", join_and_sum},
    {"often", join_often},
    {"killed", one_is_killed},
    {"gives_up", one_gives_up},
    {"throws", one_throws},
    {"never_joins", one_never_joins},
    {"leaves_early", one_leaves_early},
    {"another_secret", one_has_another_secret},
    {"strangers", with_strangers},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || !tasks.contains(argv[1])) return 2;
  ::alarm(100);
  return tasks.at(argv[1])();
}
