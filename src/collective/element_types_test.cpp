// The real kernels under the algorithms: one rounding for half types, the same bits on all ranks for floats.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "collective/algorithms.hpp"
#include "collective/test_support.hpp"
#include "tensor/reduce.hpp"

namespace rondo::collective::fake {
namespace {

using AllReduce = void (*)(Channel&, ConstBytes, Bytes, const Reduction&);

struct Case {
  const char* name;
  bool once;
  bool flat;
  AllReduce run;
};

// Chunks of 64 bytes, so that there are many.
const Case cases[] = {
    {"ring", false, false,
     [](Channel& c, ConstBytes in, Bytes out, const Reduction& r) { all_reduce_ring(c, in, out, r, 64); }},
    {"recursive_doubling", false, false,
     [](Channel& c, ConstBytes in, Bytes out, const Reduction& r) {
       all_reduce_recursive_doubling(c, in, out, r, 64);
     }},
    {"one_shot", true, false, all_reduce_one_shot},
    {"direct", true, false,
     [](Channel& c, ConstBytes in, Bytes out, const Reduction& r) { all_reduce_direct(c, in, out, r, 64); }},
    {"flat", true, true, all_reduce_flat},
};

Reduction reduction(DType dtype, ReduceOp op, std::size_t element_bytes, int n) {
  return {tensor::reduce_kernel(dtype, op), dtype, element_bytes,
          op == ReduceOp::mean ? static_cast<std::size_t>(n) : 0};
}

/// Magnitudes far apart, so that the order of additions shows in the last bits.
float sample(int rank, std::size_t i) {
  const Word bits = value(rank, i);
  const auto fraction = static_cast<float>(bits % 8191) / 8191.0F - 0.5F;
  return std::ldexp(fraction, static_cast<int>((bits >> 20) % 12));
}

template <class T>
std::vector<T> samples(int rank, std::size_t count) {
  std::vector<T> data;
  for (std::size_t i = 0; i < count; ++i) data.push_back(T(sample(rank, i)));
  return data;
}

TEST(ElementTypes, HalfTypesAreRoundedOnce) {
  const std::size_t count = 203;
  for (const Case& algorithm : cases) {
    if (!algorithm.once) continue;
    for (const int n : group_sizes()) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
        World world({n, algorithm.flat ? ArenaKind::shared : ArenaKind::none, 256});
        EXPECT_EQ(world.run([&](FakeChannel& channel) {
          std::vector<bfloat16> data = samples<bfloat16>(channel.rank(), count);
          channel.next_call();
          algorithm.run(channel, std::as_bytes(std::span(data)), std::as_writable_bytes(std::span(data)),
                        reduction(DType::bfloat16, op, 2, n));
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < count; ++i) {
            auto total = static_cast<float>(bfloat16(sample(0, i)));
            for (int r = 1; r < n; ++r) total += static_cast<float>(bfloat16(sample(r, i)));
            if (op == ReduceOp::mean) total /= static_cast<float>(n);
            wrong += data[i] == bfloat16(total) ? 0 : 1;
          }
          EXPECT_EQ(wrong, 0U) << algorithm.name << ", rank " << channel.rank() << " of " << n;
        }),
                  "");
      }
    }
  }
}

TEST(ElementTypes, FloatsHaveTheSameBitsOnAllRanksAndAgain) {
  for (const Case& algorithm : cases) {
    for (const int n : {2, 3, 5, 8, 9}) {
      for (const std::size_t count : {1U, 7U, 203U}) {
        std::vector<std::vector<float>> results(2 * static_cast<std::size_t>(n));
        World world({n, algorithm.flat ? ArenaKind::shared : ArenaKind::none, 256});
        ASSERT_EQ(world.run([&](FakeChannel& channel) {
          for (std::size_t again = 0; again < 2; ++again) {
            std::vector<float> data = samples<float>(channel.rank(), count);
            channel.next_call();
            algorithm.run(channel, std::as_bytes(std::span(data)), std::as_writable_bytes(std::span(data)),
                          reduction(DType::float32, ReduceOp::mean, 4, n));
            results[2 * static_cast<std::size_t>(channel.rank()) + again] = data;
          }
        }),
                  "");
        ASSERT_EQ(results[0].size(), count);
        for (const std::vector<float>& result : results) {
          EXPECT_EQ(result, results[0]) << algorithm.name << " of " << n;
        }
        for (std::size_t i = 0; i < count; ++i) {
          double exact = 0;
          for (int r = 0; r < n; ++r) exact += sample(r, i);
          EXPECT_NEAR(results[0][i], exact / n, 2e-3) << algorithm.name << " of " << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rondo::collective::fake
