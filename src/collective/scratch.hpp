#pragma once
/// Memory of one call, and the operands of one kernel call.

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "collective/algorithms.hpp"

namespace rondo::collective {

/// `count` buffers of `bytes` bytes each, uninitialised, aligned to 64.
class Scratch {
 public:
  Scratch(std::size_t count, std::size_t bytes)
      : bytes_(bytes),
        stride_((bytes + alignment - 1) / alignment * alignment),
        memory_(static_cast<std::byte*>(
            ::operator new(std::max<std::size_t>(count* stride_, 1), std::align_val_t(alignment)))) {}

  Bytes operator[](std::size_t index) const noexcept { return {memory_.get() + index * stride_, bytes_}; }

 private:
  static constexpr std::size_t alignment = 64;
  struct Free {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete(memory, std::align_val_t(alignment));
    }
  };
  std::size_t bytes_;
  std::size_t stride_;
  std::unique_ptr<std::byte, Free> memory_;
};

/// One pointer per operand; on the heap only for large groups.
class Operands {
 public:
  explicit Operands(std::size_t count) : count_(count) {
    if (count > inline_.size()) heap_.resize(count);
  }
  const void*& operator[](std::size_t index) noexcept {
    return heap_.empty() ? inline_[index] : heap_[index];
  }
  const void*& operator[](int index) noexcept { return (*this)[static_cast<std::size_t>(index)]; }
  std::span<const void* const> all() const noexcept {
    return {heap_.empty() ? inline_.data() : heap_.data(), count_};
  }

 private:
  std::array<const void*, 64> inline_;
  std::vector<const void*> heap_;
  std::size_t count_;
};

/// out = the operands, combined from left to right; `divisor` 0 leaves it undivided.
inline void combine(const Reduction& reduction, Bytes out, std::span<const void* const> operands,
                    std::size_t divisor) {
  if (out.empty()) return;
  reduction.kernel(out.data(), operands, out.size() / reduction.element_bytes, divisor);
}

/// Copies unless both are the same memory.
inline void copy(ConstBytes from, Bytes to) noexcept {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace rondo::collective
