/// Parts to and from the root.

#include <vector>

#include "collective/partition.hpp"
#include "collective/pipeline.hpp"
#include "collective/scratch.hpp"

namespace rondo::collective {

// Linear: one step, in which every rank but the root sends its part to the root. n - 1 parts into the root;
// what the wire to the root carries anyway, so a tree would only add hops. A part is one frame.
void gather_linear(Channel& channel, ConstBytes in, Bytes out, Counts sizes, int root) {
  const Segments segments(sizes);
  std::vector<Link> links;
  if (channel.rank() == root) {
    copy(in, cut(out, segments[root]));
    for (int r = 0; r < channel.size(); ++r) {
      if (r != root) links.push_back({-1, 0, r, 1});
    }
  } else {
    links.push_back({root, 1, -1, 0});
  }
  pipeline(
      channel, Flow{links, Sends::early}, [&](std::size_t, std::size_t) { return in; },
      [&](std::size_t link, std::size_t) { return cut(out, segments[links[link].from]); },
      [](std::size_t) {});
}

// Linear: the same the other way round.
void scatter_linear(Channel& channel, ConstBytes in, Bytes out, Counts sizes, int root) {
  const Segments segments(sizes);
  std::vector<Link> links;
  if (channel.rank() == root) {
    for (int r = 0; r < channel.size(); ++r) {
      if (r != root) links.push_back({r, 1, -1, 0});
    }
  } else {
    links.push_back({-1, 0, root, 1});
  }
  pipeline(
      channel, Flow{links, Sends::early},
      [&](std::size_t link, std::size_t) { return cut(in, segments[links[link].to]); },
      [&](std::size_t, std::size_t) { return out; }, [](std::size_t) {});
  if (channel.rank() == root) copy(cut(in, segments[root]), out);
}

}  // namespace rondo::collective
