/// A rendezvous of one's own: for whoever has a launcher or a store already (MPI, Redis, a job scheduler).
/// All that rondo needs is an exchange: every rank brings a few bytes and gets those of all. Here the
/// launcher is the process that forks the ranks, and each rank has a socket to it.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <rondo/rondo.hpp>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int size = 4;
constexpr int exchanges = 2;  // so often each rank calls the exchange within init

// A socket of packets keeps the bytes of one rank together, whatever they are.
void put(int socket, const std::string& bytes) {
  if (send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("nobody listens");
}
std::string take(int socket) {
  std::array<char, 4096> packet;
  const ssize_t length = recv(socket, packet.data(), packet.size(), 0);
  if (length <= 0) throw std::runtime_error("the other side is gone");
  return {packet.data(), static_cast<std::size_t>(length)};
}

/// A rank's process.
int run_rank(int rank, int launcher) {
  const rondo::Exchange exchange = [&](const std::string& mine) {
    put(launcher, mine);
    std::vector<std::string> all(size);  // by rank: all[rank] comes back to be `mine`
    for (std::string& each : all) each = take(launcher);
    return all;
  };
  rondo::Config config;
  config.rank = rank;
  config.size = size;
  const rondo::Group group = rondo::init(config, exchange);

  int sum = rank + 1;
  group.all_sum(std::span(&sum, 1));
  std::printf("rank %d of %d met the others its own way: the sum is %d\n", group.rank(), group.size(), sum);
  return sum == size * (size + 1) / 2 ? 0 : 1;
}

/// The launcher's part: everybody's bytes to everybody, in the order of the ranks.
void serve_exchange(const std::vector<int>& ranks) {
  std::vector<std::string> all(size);
  for (std::size_t rank = 0; rank < size; ++rank) all[rank] = take(ranks[rank]);
  for (const int rank : ranks) {
    for (const std::string& bytes : all) put(rank, bytes);
  }
}

int main() {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return 1;
    if (fork() == 0) {
      for (const int other : ranks) close(other);
      close(ends[0]);
      try {
        return run_rank(rank, ends[1]);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
        return 1;
      }
    }
    close(ends[1]);
    ranks.push_back(ends[0]);
  }

  bool right = true;
  try {
    for (int i = 0; i < exchanges; ++i) serve_exchange(ranks);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "launcher: %s\n", error.what());
    right = false;
  }
  for (const int rank : ranks) close(rank);  // whoever still waits hears of it
  for (int status = 0; wait(&status) > 0;) right = right && status == 0;
  return right ? 0 : 1;
}
