/// Sum and product of the integers. Both wrap, so that signed and unsigned types share kernels.

#include "tensor/reduce_parts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/reduce_integer.cpp"
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "tensor/reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::tensor::HWY_NAMESPACE {
namespace {

template <class T>
struct Wrapping {
  using Memory = T;
  using Lane = T;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return hn::LoadU(d, from);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, T* to) const {
    hn::StoreU(all, d, to);
  }
};

template <class T>
struct Sum : Wrapping<T> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Add(all, next);
  }
};

template <class T>
struct Product : Wrapping<T> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Mul(all, next);
  }
};

/// No target multiplies bytes; the low halves of 16-bit products are the same bits.
template <>
struct Product<std::uint8_t> {
  using Memory = std::uint8_t;
  using Lane = std::uint16_t;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const std::uint8_t* from) const {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D>(), from));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Mul(all, next);
  }
  template <class D>
  HWY_INLINE void store(D, hn::Vec<D> all, std::uint8_t* to) const {
    const hn::Rebind<std::uint8_t, D> narrow;
    hn::StoreU(hn::TruncateTo(narrow, all), narrow, to);
  }
};

template <template <class> class Op>
ReduceKernel of_width(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return plain<Op<std::uint8_t>>;
    case 2:
      return plain<Op<std::uint16_t>>;
    case 4:
      return plain<Op<std::uint32_t>>;
    case 8:
      return plain<Op<std::uint64_t>>;
    default:
      return nullptr;
  }
}

ReduceKernel pick_integer(DType dtype, ReduceOp op) {
  if (op == ReduceOp::sum) return of_width<Sum>(dtype);
  if (op == ReduceOp::product) return of_width<Product>(dtype);
  return nullptr;
}

}  // namespace
}  // namespace rondo::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::tensor {

HWY_EXPORT(pick_integer);

ReduceKernel integer_kernel(DType dtype, ReduceOp op) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_integer)(dtype, op);
}

}  // namespace rondo::tensor
#endif
