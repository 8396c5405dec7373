/// Sum, product, min and max of float32, float64 and the complex types.

#include "tensor/reduce_parts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/reduce_float.cpp"
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "tensor/reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::tensor::HWY_NAMESPACE {
namespace {

template <class T>
struct Sum {
  using Memory = T;
  using Lane = T;
  std::size_t divisor = 0;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return hn::LoadU(d, from);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Add(all, next);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, T* to) const {
    hn::StoreU(finished(d, all, divisor), d, to);
  }
};

template <class T>
struct Product {
  using Memory = T;
  using Lane = T;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return hn::LoadU(d, from);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Mul(all, next);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, T* to) const {
    hn::StoreU(canonical(d, all), d, to);
  }
};

/// The minimum; the maximum is the minimum of the negated elements, negated. Targets' own min and max
/// instructions differ on NaN and on zeros of two signs. Where neither element is less than the other they
/// are equal or one is NaN, and the bitwise or of both is right: -0 of zeros, a NaN of anything and a NaN.
template <class T, bool Largest>
struct Extreme {
  using Memory = T;
  using Lane = T;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return oriented(d, hn::LoadU(d, from));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Or(hn::IfThenZeroElse(hn::Lt(next, all), all), hn::IfThenZeroElse(hn::Lt(all, next), next));
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, T* to) const {
    hn::StoreU(canonical(d, oriented(d, all)), d, to);
  }

 private:
  template <class D>
  HWY_INLINE static hn::Vec<D> oriented(D d, hn::Vec<D> value) {
    if constexpr (Largest) {
      return hn::Xor(value, set_bits(d, FloatBits<T>::sign));
    } else {
      return value;
    }
  }
};

/// (ar br - ai bi, ar bi + ai br), every operation rounded on its own: no fused multiply-add, on any target.
template <class T, class D>
HWY_INLINE void complex_products(D d, T* to, Inputs in, std::size_t at) {
  hn::Vec<D> real;
  hn::Vec<D> imag;
  hn::LoadInterleaved2(d, input<T>(in, 0, 2 * at), real, imag);
  for (std::size_t k = 1; k < in.size(); ++k) {
    hn::Vec<D> next_real;
    hn::Vec<D> next_imag;
    hn::LoadInterleaved2(d, input<T>(in, k, 2 * at), next_real, next_imag);
    const auto product = hn::Sub(hn::Mul(real, next_real), hn::Mul(imag, next_imag));
    imag = hn::Add(hn::Mul(real, next_imag), hn::Mul(imag, next_real));
    real = product;
  }
  hn::StoreInterleaved2(canonical(d, real), canonical(d, imag), d, to);
}

template <class T>
HWY_NOINLINE void complex_product(void* out, Inputs in, std::size_t count, std::size_t) {
  const hn::ScalableTag<T> d;
  auto* to = static_cast<T*>(out);
  const std::size_t step = hn::Lanes(d);
  std::size_t at = 0;
  for (; at + step <= count; at += step) complex_products<T>(d, to + 2 * at, in, at);
  // The rest is combined in a padded copy, and written when every input has been read: `out` may be one of
  // them.
  const std::size_t bytes = (count - at) * 2 * sizeof(T);
  if (bytes == 0) return;
  HWY_ALIGN T all[2 * hn::MaxLanes(d)] = {};
  HWY_ALIGN T next[2 * hn::MaxLanes(d)] = {};
  const void* const single[1] = {all};
  const void* const both[2] = {all, next};
  std::memcpy(all, input<T>(in, 0, 2 * at), bytes);
  for (std::size_t k = 1; k < in.size(); ++k) {
    std::memcpy(next, input<T>(in, k, 2 * at), bytes);
    complex_products<T>(d, all, Inputs(both), 0);
  }
  if (in.size() == 1) complex_products<T>(d, all, Inputs(single), 0);
  std::memcpy(to + 2 * at, all, bytes);
}

/// Complex numbers add, and are divided, component by component.
template <class T>
void complex_sum(void* out, Inputs in, std::size_t count, std::size_t divisor) {
  reduce(Sum<T>{divisor}, out, in, 2 * count);
}

template <class T>
ReduceKernel real(ReduceOp op) {
  if (op == ReduceOp::sum) return dividing<Sum<T>>;
  if (op == ReduceOp::product) return plain<Product<T>>;
  if (op == ReduceOp::min) return plain<Extreme<T, false>>;
  if (op == ReduceOp::max) return plain<Extreme<T, true>>;
  return nullptr;
}

template <class T>
ReduceKernel complex(ReduceOp op) {
  if (op == ReduceOp::sum) return complex_sum<T>;
  if (op == ReduceOp::product) return complex_product<T>;
  return nullptr;
}

ReduceKernel pick_float(DType dtype, ReduceOp op) {
  if (dtype == DType::float32) return real<float>(op);
  if (dtype == DType::float64) return real<double>(op);
  if (dtype == DType::complex64) return complex<float>(op);
  if (dtype == DType::complex128) return complex<double>(op);
  return nullptr;
}

}  // namespace
}  // namespace rondo::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::tensor {

HWY_EXPORT(pick_float);

ReduceKernel float_kernel(DType dtype, ReduceOp op) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_float)(dtype, op);
}

}  // namespace rondo::tensor
#endif
