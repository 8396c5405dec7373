#include "tensor/reduce.hpp"

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstring>
#include <functional>

#include "tensor/reduce_reference.hpp"

namespace rondo::tensor {
namespace {

using testing_support::Bytes;
using testing_support::inputs_of;
using testing_support::reference_of;
using testing_support::special;

/// One vector target for the length of a scope; then the processor's own choice again.
class Forced {
 public:
  explicit Forced(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  ~Forced() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
  Forced(const Forced&) = delete;
  Forced& operator=(const Forced&) = delete;
};

/// Memory for one operand at a chosen distance from the alignment of a vector, guarded at both ends.
class Operand {
 public:
  Operand(std::size_t bytes, std::size_t offset) : memory_(bytes + offset + 256, std::byte{0xa5}) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = 64 + (64 - address % 64) % 64 + offset;
    bytes_ = bytes;
  }
  std::byte* data() { return memory_.data() + start_; }
  bool guards_intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < start_ || i >= start_ + bytes_) && memory_[i] != std::byte{0xa5}) return false;
    }
    return true;
  }

 private:
  Bytes memory_;
  std::size_t start_ = 0;
  std::size_t bytes_ = 0;
};

/// Runs one kernel on the first `count` elements: unaligned, and with `out` in place of input `alias` (none
/// for alias == k). Returns what is wrong, or nothing.
std::string run(ReduceKernel kernel, DType dtype, const std::vector<Bytes>& inputs, std::size_t count,
                std::size_t divisor, std::size_t alias, const Bytes& expected) {
  const std::size_t size = size_of(dtype);
  std::vector<Operand> operands;
  std::vector<const void*> in;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    operands.emplace_back(count * size, (count * 7 + k * 3) % 16 * size);
    std::memcpy(operands[k].data(), inputs[k].data(), count * size);
    in.push_back(operands[k].data());
  }
  Operand apart(count * size, (count * 5 + 1) % 16 * size);
  Operand& out = alias < inputs.size() ? operands[alias] : apart;
  kernel(out.data(), in, count, divisor);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(out.data() + i * size, expected.data() + i * size, size) != 0) {
      return "element " + std::to_string(i) + " differs";
    }
  }
  if (!out.guards_intact()) return "written past the end";
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (k != alias && std::memcmp(operands[k].data(), inputs[k].data(), count * size) != 0) {
      return "input " + std::to_string(k) + " was changed";
    }
  }
  return {};
}

class ReduceTest : public testing::TestWithParam<std::int64_t> {};

void check(DType dtype, ReduceOp op, std::size_t k, std::size_t most, bool every_length) {
  const ReduceKernel kernel = reduce_kernel(dtype, op);
  ASSERT_NE(kernel, nullptr);
  const std::size_t divisor = op == ReduceOp::mean ? k + 2 : 0;
  const auto seed = static_cast<std::uint64_t>(dtype) * 1000 + static_cast<std::uint64_t>(op) * 100 + k;
  const std::vector<Bytes> inputs = inputs_of(dtype, k, most, seed);
  const Bytes expected = reference_of(dtype)(op, inputs, most, divisor);
  for (std::size_t count = every_length ? 0 : most; count <= most; ++count) {
    const std::string wrong = run(kernel, dtype, inputs, count, divisor, count % (k + 1), expected);
    ASSERT_EQ(wrong, "") << dtype << ' ' << op << ", " << k << " inputs, " << count << " elements";
  }
}

void for_each_supported(const std::function<void(DType, ReduceOp)>& call) {
  for (int type = 0; type < dtype_count; ++type) {
    for (int number = 0; number < reduce_op_count; ++number) {
      if (supported(static_cast<ReduceOp>(number), static_cast<DType>(type))) {
        call(static_cast<DType>(type), static_cast<ReduceOp>(number));
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(ReduceTest, EveryLengthAroundTheVectorsMatchesTheReference) {
  const Forced target(GetParam());
  for_each_supported([](DType dtype, ReduceOp op) {
    // Four vectors of 64 bytes and three elements; accumulators are never narrower than the element.
    const std::size_t most = 4 * 64 / size_of(dtype) + 3;
    for (const std::size_t k : {1U, 2U, 3U, 5U, 8U}) {
      check(dtype, op, k, most, true);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST_P(ReduceTest, LargePrimesMatchTheReference) {
  const Forced target(GetParam());
  for_each_supported([](DType dtype, ReduceOp op) {
    check(dtype, op, 2, 10007, false);
    check(dtype, op, 3, 4099, false);
    check(dtype, op, 37, 1009, false);
  });
}

TEST_P(ReduceTest, EveryHalfMeetsEverySpecialOne) {
  const Forced target(GetParam());
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    std::vector<Bytes> inputs(2, Bytes(std::size_t{2} << 16U));
    for (std::uint64_t pick = 0; pick < 12; ++pick) {
      // The last partner is 1, which makes the sum of a subnormal round and leaves a product as it is.
      const auto one = static_cast<std::uint16_t>(dtype == DType::float16 ? 0x3c00 : 0x3f80);
      const std::uint16_t partner = pick == 11 ? one : special<std::uint16_t>(dtype, pick);
      for (unsigned pattern = 0; pattern < 0x10000U; ++pattern) {
        const auto bits = static_cast<std::uint16_t>(pattern);
        std::memcpy(inputs[0].data() + std::size_t{2} * pattern, &bits, 2);
        std::memcpy(inputs[1].data() + std::size_t{2} * pattern, &partner, 2);
      }
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
        const Bytes expected = reference_of(dtype)(op, inputs, 0x10000, 0);
        ASSERT_EQ(run(reduce_kernel(dtype, op), dtype, inputs, 0x10000, 0, 2, expected), "")
            << dtype << ' ' << op << ' ' << partner;
      }
    }
  }
}

TEST_P(ReduceTest, DivideMatchesTheReference) {
  const Forced target(GetParam());
  for_each_supported([](DType dtype, ReduceOp op) {
    if (op != ReduceOp::mean) return;
    const std::size_t count = 1031;
    for (const std::size_t divisor : {1U, 2U, 3U, 7U, 1000U}) {
      std::vector<Bytes> inputs = inputs_of(dtype, 1, count, divisor);
      const Bytes expected = reference_of(dtype)(op, inputs, count, divisor);
      Bytes apart(inputs[0].size());
      divide(dtype, apart.data(), inputs[0].data(), count, divisor);
      ASSERT_EQ(apart, expected) << dtype << " / " << divisor;
      divide(dtype, inputs[0].data(), inputs[0].data(), count, divisor);
      ASSERT_EQ(inputs[0], expected) << dtype << " / " << divisor << ", in place";
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Targets, ReduceTest, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace rondo::tensor
