/// A part from every rank to every rank.

#include "collective/partition.hpp"
#include "collective/ring.hpp"
#include "collective/scratch.hpp"

namespace rondo::collective {

// Pairwise exchange (Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19, 2005). n - 1
// steps: in step s a rank sends to the rank s after it and receives from the rank s before it, so that every
// rank is the target of one other at a time. All bytes out and in once. A part is one frame; a step begins
// when the step before the last is over, so the latency of one is hidden behind the other.
void all_to_all_pairwise(Channel& channel, ConstBytes in, Bytes out, Counts send, Counts recv) {
  const int rank = channel.rank();
  const int n = channel.size();
  const Segments going(send);
  const Segments coming(recv);
  transport::Pending sends[2];
  transport::Pending receives[2];
  for (int step = 1; step < n; ++step) {
    const int to = ring::modulo(rank + step, n);
    const int from = ring::modulo(rank - step, n);
    channel.wait(sends[step % 2]);
    channel.wait(receives[step % 2]);
    channel.recv(receives[step % 2], from, cut(out, coming[from]));
    channel.send(sends[step % 2], to, cut(in, going[to]));
  }
  copy(cut(in, going[rank]), cut(out, coming[rank]));
  for (int slot = 0; slot < 2; ++slot) {
    channel.wait(sends[slot]);
    channel.wait(receives[slot]);
  }
}

}  // namespace rondo::collective
