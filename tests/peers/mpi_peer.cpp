// MPI's native collectives on float32, measured as `rondo bench` measures. Built once for Open MPI and once
// for MPICH.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "sampling.hpp"

namespace {

struct World {
  int rank = 0;
  int ranks = 1;
};

/// A test at one size: its memory, its call, and what must come out.
struct Work {
  std::size_t size = 0;  ///< bytes really moved, as the table counts them
  std::vector<float> in;
  std::vector<float> out;
  peers::Call call;
  std::function<float(std::size_t)> expected;
  std::size_t calls = 1;  ///< operations in one call
};

void slowest(std::vector<double>& values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
}

Work memory(std::size_t size, std::size_t in, std::size_t out, int rank) {
  Work work;
  work.size = size;
  work.in.resize(in);
  work.out.assign(out, -1.0F);
  peers::fill(work.in, rank);
  return work;
}

// The calls take addresses of vectors, which keep them when the Work is moved.
Work all_reduce(std::size_t size, World world) {
  const std::size_t count = peers::count_of(size, 1);
  Work work = memory(count * sizeof(float), count, count, world.rank);
  work.call = [in = work.in.data(), out = work.out.data(), n = static_cast<int>(count)] {
    MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  work.expected = [world](std::size_t i) { return peers::sum_at(world.ranks, i); };
  return work;
}

Work all_gather(std::size_t size, World world) {
  const std::size_t count = peers::count_of(size, world.ranks);
  const std::size_t total = count * static_cast<std::size_t>(world.ranks);
  Work work = memory(total * sizeof(float), count, total, world.rank);
  work.call = [in = work.in.data(), out = work.out.data(), n = static_cast<int>(count)] {
    MPI_Allgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD);
  };
  work.expected = [count](std::size_t i) { return peers::value_at(static_cast<int>(i / count), i % count); };
  return work;
}

Work reduce_scatter(std::size_t size, World world) {
  const std::size_t count = peers::count_of(size, world.ranks);
  const std::size_t total = count * static_cast<std::size_t>(world.ranks);
  Work work = memory(total * sizeof(float), total, count, world.rank);
  work.call = [in = work.in.data(), out = work.out.data(), n = static_cast<int>(count)] {
    MPI_Reduce_scatter_block(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  const std::size_t mine = count * static_cast<std::size_t>(world.rank);
  work.expected = [world, mine](std::size_t i) { return peers::sum_at(world.ranks, mine + i); };
  return work;
}

Work all_to_all(std::size_t size, World world) {
  const std::size_t count = peers::count_of(size, world.ranks);
  const std::size_t total = count * static_cast<std::size_t>(world.ranks);
  Work work = memory(total * sizeof(float), total, total, world.rank);
  work.call = [in = work.in.data(), out = work.out.data(), n = static_cast<int>(count)] {
    MPI_Alltoall(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD);
  };
  const std::size_t mine = count * static_cast<std::size_t>(world.rank);
  work.expected = [count, mine](std::size_t i) {
    return peers::value_at(static_cast<int>(i / count), mine + i % count);
  };
  return work;
}

Work broadcast(std::size_t size, World world) {
  const std::size_t count = peers::count_of(size, 1);
  Work work = memory(count * sizeof(float), 0, count, world.rank);
  if (world.rank == 0) peers::fill(work.out, 0);
  work.call = [out = work.out.data(), n = static_cast<int>(count)] {
    MPI_Bcast(out, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
  };
  work.expected = [](std::size_t i) { return peers::value_at(0, i); };
  return work;
}

Work sendrecv(std::size_t size, World world) {
  const std::size_t count = peers::count_of(size, 1);
  Work work = memory(count * sizeof(float), count, count, world.rank);
  const int next = (world.rank + 1) % world.ranks;
  const int before = (world.rank + world.ranks - 1) % world.ranks;
  work.call = [in = work.in.data(), out = work.out.data(), n = static_cast<int>(count), next, before] {
    MPI_Sendrecv(in, n, MPI_FLOAT, next, 0, out, n, MPI_FLOAT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  work.expected = [before](std::size_t i) { return peers::value_at(before, i); };
  return work;
}

Work latency(std::size_t size, World world) {
  const std::size_t count = peers::count_of(size, 1);
  Work work = memory(count * sizeof(float), count, world.rank < 2 ? count : 0, world.rank);
  work.call = [in = work.in.data(), out = work.out.data(), n = static_cast<int>(count), rank = world.rank] {
    if (rank == 0) {
      MPI_Send(in, n, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(out, n, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(out, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(in, n, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
    }
  };
  work.expected = [world](std::size_t i) { return peers::value_at(1 - world.rank, i); };
  work.calls = 2;
  return work;
}

Work work_of(const std::string& test, std::size_t size, World world) {
  if (test == "all_reduce") return all_reduce(size, world);
  if (test == "all_gather") return all_gather(size, world);
  if (test == "reduce_scatter") return reduce_scatter(size, world);
  if (test == "all_to_all") return all_to_all(size, world);
  if (test == "broadcast") return broadcast(size, world);
  if (test == "sendrecv") return sendrecv(size, world);
  if (test == "latency") return latency(size, world);
  throw std::invalid_argument("no test " + test);
}

void run(const peers::Options& options, World world) {
  for (const std::string& test : options.tests) {
    for (const std::size_t size : options.sizes) {
      Work work = work_of(test, size, world);
      peers::Timing timing = peers::measure(work.call, slowest, options);
      for (double* time : {&timing.min, &timing.median, &timing.p99})
        *time /= static_cast<double>(work.calls);
      if (test != "broadcast" || world.rank != 0) std::fill(work.out.begin(), work.out.end(), -1.0F);
      work.call();
      double wrong = peers::wrong_in(work.out, 0, work.out.size(), work.expected);
      MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      if (world.rank == 0) peers::print_row(test, work.size, timing, wrong);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
  try {
    run(peers::options_of(argc, argv), world);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_peer: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
