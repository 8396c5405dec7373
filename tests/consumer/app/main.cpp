// What a user's program does with an installed rondo: a sum, errors that cross the border of the library, a
// job of processes.
#include <cstdio>
#include <rondo/rondo.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// A user's own error on top of rondo's; it travels through the library and comes out as itself.
class LostShard : public rondo::Error {
 public:
  explicit LostShard(int shard)
      : Error(rondo::ErrorKind::aborted, "shard " + std::to_string(shard) + " is lost"), shard_(shard) {}
  int shard() const noexcept { return shard_; }

 private:
  int shard_;
};

void sum_over_threads() {
  std::vector<int> sums(3);
  {
    std::vector<std::jthread> threads;
    for (const rondo::Group& group : rondo::sim_group(3)) {
      threads.emplace_back([group, &sums] {
        const int rank = group.rank();
        const rondo::Tensor sum = group.all_sum(rondo::Tensor::scalar(10 + rank * rank));
        sums[static_cast<std::size_t>(rank)] = sum.span<int>()[0];
      });
    }
  }
  std::printf("sums %d %d %d\n", sums[0], sums[1], sums[2]);
}

void errors_by_kind() {
  const std::vector<rondo::Group> groups = rondo::sim_group(2);
  try {
    groups[0].send(std::vector<float>{1, 2, 3}, 7);
  } catch (const rondo::Error& error) {
    std::printf("kind %s of %s\n", std::string(rondo::to_string(error.kind())).c_str(),
                error.operation().c_str());
  }
  try {
    rondo::parse_backend("pigeon");
  } catch (const std::runtime_error& error) {
    std::printf("runtime_error: %s\n", error.what());
  }
  try {
    rondo::sim_run(2, 5, [](const rondo::Group& group) {
      if (group.rank() == 1) throw LostShard(23);
    });
  } catch (const LostShard& error) {
    std::printf("own error: %d, %s\n", error.shard(), error.what());
  }
}

void sum_over_processes() {
  const rondo::Group group = rondo::init();
  std::vector<double> values{group.rank() + 0.5, 8.0};
  group.all_sum(values);
  std::printf("rank %d of %d: %g %g\n", group.rank(), group.size(), values[0], values[1]);
}

}  // namespace

int main() {
  sum_over_threads();
  errors_by_kind();
  sum_over_processes();
}
