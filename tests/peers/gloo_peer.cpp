// Gloo over TCP, measured as `rondo bench` measures. One process per rank: they meet in a folder (--store).
// Gloo leaves the choice of the all-reduce to its caller, so a row is the faster of its ring and its halving
// and doubling; the note tells which.

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstring>
#include <memory>
#include <thread>

#include "sampling.hpp"

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

Context connect(const peers::Options& options, const char* prefix) {
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  gloo::rendezvous::FileStore files(options.store);
  gloo::rendezvous::PrefixStore store(prefix, files);
  auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.ranks);
  context->connectFullMesh(store, device);
  return context;
}

/// Ranks that meet twice: collectives of the present interface need pairs that a thread of Gloo drives, those
/// of the old one are quicker on pairs that the caller drives.
class Ranks {
 public:
  explicit Ranks(const peers::Options& options)
      : rank(options.rank),
        ranks(options.ranks),
        driven(connect(options, "driven")),
        direct(connect(options, "direct")) {
    const bool free_cores = std::thread::hardware_concurrency() >= static_cast<unsigned>(ranks);
    for (int other = 0; other < ranks; ++other)
      if (other != rank) direct->getPair(other)->setSync(true, free_cores);
  }

  template <class T>
  void all_reduce(std::vector<T>& values,
                  void (*reduce)(void*, const void*, const void*, std::size_t)) const {
    gloo::AllreduceOptions call(driven);
    call.setOutput(values.data(), values.size());
    call.setReduceFunction(reduce);
    gloo::allreduce(call);
  }

  void slowest(std::vector<double>& values) const { all_reduce(values, &gloo::max<double>); }

  const int rank;
  const int ranks;
  const Context driven;
  const Context direct;
};

struct Row {
  peers::Timing timing;
  double wrong = 0;
  std::string note;
};

/// What must come out, of a position.
using Expected = std::function<float(std::size_t)>;

Row row_of(const Ranks& group, const peers::Options& options, const peers::Call& call,
           std::vector<float>& out, const Expected& expected, const std::string& note = "") {
  const auto slowest = [&](std::vector<double>& values) { group.slowest(values); };
  Row row{peers::measure(call, slowest, options), 0, note};
  std::fill(out.begin(), out.end(), -1.0F);
  call();
  std::vector<double> wrong{peers::wrong_in(out, 0, out.size(), expected)};
  group.all_reduce(wrong, &gloo::sum<double>);
  row.wrong = wrong[0];
  return row;
}

Row ring(const Ranks& group, const peers::Options& options, std::size_t count) {
  std::vector<float> in(count), out(count);
  peers::fill(in, group.rank);
  const auto call = [&] {
    gloo::AllreduceOptions call(group.driven);
    call.setInput(in.data(), count);
    call.setOutput(out.data(), count);
    call.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    call.setReduceFunction(
        [](void* sum, const void* a, const void* b, std::size_t n) { gloo::sum<float>(sum, a, b, n); });
    gloo::allreduce(call);
  };
  return row_of(
      group, options, call, out, [&](std::size_t i) { return peers::sum_at(group.ranks, i); }, "ring");
}

Row halving_doubling(const Ranks& group, const peers::Options& options, std::size_t count) {
  std::vector<float> in(count), out(count);
  peers::fill(in, group.rank);
  gloo::AllreduceHalvingDoubling<float> in_place(group.direct, {out.data()}, static_cast<int>(count));
  const auto call = [&] {
    std::memcpy(out.data(), in.data(), count * sizeof(float));  // out of place, as all others
    in_place.run();
  };
  return row_of(
      group, options, call, out, [&](std::size_t i) { return peers::sum_at(group.ranks, i); },
      "halving and doubling");
}

Row all_reduce(const Ranks& group, const peers::Options& options, std::size_t count) {
  const Row one = ring(group, options, count);
  const Row other = halving_doubling(group, options, count);
  Row best = one.timing.median <= other.timing.median ? one : other;
  best.wrong = one.wrong + other.wrong;
  return best;
}

Row all_gather(const Ranks& group, const peers::Options& options, std::size_t count) {
  std::vector<float> in(count), out(count * static_cast<std::size_t>(group.ranks));
  peers::fill(in, group.rank);
  const auto call = [&] {
    gloo::AllgatherOptions call(group.driven);
    call.setInput(in.data(), in.size());
    call.setOutput(out.data(), out.size());
    gloo::allgather(call);
  };
  return row_of(group, options, call, out,
                [&](std::size_t i) { return peers::value_at(static_cast<int>(i / count), i % count); });
}

Row all_to_all(const Ranks& group, const peers::Options& options, std::size_t count) {
  std::vector<float> in(count * static_cast<std::size_t>(group.ranks)), out(in.size());
  peers::fill(in, group.rank);
  const auto call = [&] {
    gloo::AlltoallOptions call(group.driven);
    call.setInput(in.data(), in.size());
    call.setOutput(out.data(), out.size());
    gloo::alltoall(call);
  };
  const std::size_t mine = count * static_cast<std::size_t>(group.rank);
  return row_of(group, options, call, out, [&](std::size_t i) {
    return peers::value_at(static_cast<int>(i / count), mine + i % count);
  });
}

Row broadcast(const Ranks& group, const peers::Options& options, std::size_t count) {
  std::vector<float> in(count), out(count);
  peers::fill(in, group.rank);
  const auto call = [&] {
    gloo::BroadcastOptions call(group.driven);
    if (group.rank == 0) call.setInput(in.data(), in.size());
    call.setOutput(out.data(), out.size());
    call.setRoot(0);
    gloo::broadcast(call);
  };
  return row_of(group, options, call, out, [](std::size_t i) { return peers::value_at(0, i); });
}

struct Test {
  const char* name;
  bool of_all_parts;  ///< the size is that of all ranks' parts together
  Row (*run)(const Ranks&, const peers::Options&, std::size_t count);
};

constexpr Test tests[] = {{"all_reduce", false, &all_reduce},
                          {"all_gather", true, &all_gather},
                          {"all_to_all", true, &all_to_all},
                          {"broadcast", false, &broadcast}};

void run(const peers::Options& options) {
  const Ranks group(options);
  for (const std::string& name : options.tests) {
    const Test* test =
        std::find_if(std::begin(tests), std::end(tests), [&](const Test& each) { return name == each.name; });
    if (test == std::end(tests)) throw std::invalid_argument("no test " + name);
    const int parts = test->of_all_parts ? group.ranks : 1;
    for (const std::size_t size : options.sizes) {
      const std::size_t count = peers::count_of(size, parts);
      const Row row = test->run(group, options, count);
      if (group.rank == 0)
        peers::print_row(name, count * static_cast<std::size_t>(parts) * sizeof(float), row.timing, row.wrong,
                         row.note);
    }
  }
  // Nobody hangs up while another still waits for its last part.
  std::vector<double> last{0};
  group.slowest(last);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(peers::options_of(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo_peer: %s\n", error.what());
    return 2;
  }
  return 0;
}
