/// The root's bytes, on every rank.

#include <vector>

#include "collective/algorithms.hpp"
#include "collective/partition.hpp"
#include "collective/pipeline.hpp"
#include "collective/tree.hpp"

namespace rondo::collective {

// Binomial tree (Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19, 2005), pipelined.
// Every rank receives from its parent and sends to its children, the one with the largest subtree first; a
// chunk goes on as soon as it is there. ceil(log2 n) steps for the first chunk; B bytes in per rank, at most
// B ceil(log2 n) out (the root's).
void broadcast_binomial(Channel& channel, Bytes data, int root, std::size_t chunk_bytes) {
  const int rank = channel.rank();
  const int n = channel.size();
  const Range whole{0, data.size()};
  const std::size_t chunks = chunk_count(whole.size, chunk_bytes);
  std::vector<Link> links;
  for (int i = tree::children(rank, root, n); i-- > 0;) {
    links.push_back({tree::child(rank, root, n, i), chunks, -1, 0});
  }
  if (rank != root) links.push_back({-1, 0, tree::parent(rank, root, n), chunks});
  const auto chunk = [&](std::size_t, std::size_t i) { return cut(data, chunk_of(whole, chunk_bytes, i)); };
  pipeline(channel, Flow{links, rank == root ? Sends::early : Sends::late}, chunk, chunk, [](std::size_t) {});
}

}  // namespace rondo::collective
