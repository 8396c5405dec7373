/// Nobody leaves before everybody has come.

#include "collective/algorithms.hpp"
#include "collective/ring.hpp"

namespace rondo::collective {

// Dissemination (Hensgen, Finkel and Manber, Int. J. Parallel Program. 17, 1988). ceil(log2 n) steps: in step
// k a rank tells the rank 2^k after it and hears from the rank 2^k before it; after step k it has heard,
// directly or not, from the 2^(k+1) - 1 ranks before it. Frames are empty.
void barrier_dissemination(Channel& channel) {
  const int n = channel.size();
  for (int distance = 1; distance < n; distance *= 2) {
    transport::Pending receive;
    transport::Pending send;
    channel.recv(receive, ring::modulo(channel.rank() - distance, n), {});
    channel.send(send, ring::modulo(channel.rank() + distance, n), {});
    channel.wait(receive);
    channel.wait(send);
  }
}

}  // namespace rondo::collective
