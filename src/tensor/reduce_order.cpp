/// Min and max of the integers.

#include "tensor/reduce_parts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/reduce_order.cpp"
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "tensor/reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::tensor::HWY_NAMESPACE {
namespace {

template <class T, bool Largest>
struct Extreme {
  using Memory = T;
  using Lane = T;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return hn::LoadU(d, from);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    if constexpr (Largest) {
      return hn::Max(all, next);
    } else {
      return hn::Min(all, next);
    }
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, T* to) const {
    hn::StoreU(all, d, to);
  }
};

template <class T>
ReduceKernel extreme(ReduceOp op) {
  if (op == ReduceOp::min) return plain<Extreme<T, false>>;
  if (op == ReduceOp::max) return plain<Extreme<T, true>>;
  return nullptr;
}

ReduceKernel pick_order(DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::int8:
      return extreme<std::int8_t>(op);
    case DType::int16:
      return extreme<std::int16_t>(op);
    case DType::int32:
      return extreme<std::int32_t>(op);
    case DType::int64:
      return extreme<std::int64_t>(op);
    case DType::uint8:
      return extreme<std::uint8_t>(op);
    case DType::uint16:
      return extreme<std::uint16_t>(op);
    case DType::uint32:
      return extreme<std::uint32_t>(op);
    case DType::uint64:
      return extreme<std::uint64_t>(op);
    case DType::bool_:
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float64:
    case DType::complex64:
    case DType::complex128:
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      break;
  }
  return nullptr;
}

}  // namespace
}  // namespace rondo::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::tensor {

HWY_EXPORT(pick_order);

ReduceKernel order_kernel(DType dtype, ReduceOp op) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_order)(dtype, op);
}

}  // namespace rondo::tensor
#endif
