/// Sum, product, min and max of float16 and bfloat16. Sums and products accumulate in float32 and round once.

#include "tensor/reduce_parts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/reduce_half.cpp"
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "tensor/reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::tensor::HWY_NAMESPACE {
namespace {

/// Lanes of float bits, and the halves that go with them.
template <class DF>
using Bits = hn::RebindToUnsigned<DF>;
template <class DF>
using Narrow = hn::Rebind<std::uint16_t, DF>;

/// `bits` / 2^shift, rounded to nearest, ties to even.
template <int Shift, class V>
HWY_INLINE V shift_to_even(V bits, V one) {
  const hn::DFromV<V> du;
  const V odd = hn::And(hn::ShiftRight<Shift>(bits), one);
  const V below_half = hn::Set(du, (1U << (Shift - 1)) - 1U);
  return hn::ShiftRight<Shift>(hn::Add(hn::Add(bits, below_half), odd));
}

struct BFloat16 {
  static constexpr std::uint16_t infinity = 0x7f80;
  static constexpr std::uint16_t nan = 0x7fc0;

  template <class DF>
  HWY_INLINE static hn::Vec<DF> widen(DF df, const std::uint16_t* from) {
    const auto bits = hn::PromoteTo(Bits<DF>(), hn::LoadU(Narrow<DF>(), from));
    return hn::BitCast(df, hn::ShiftLeft<16>(bits));
  }

  /// `value` has canonical NaNs only: those have a zero lower half and pass the rounding unchanged.
  template <class DF>
  HWY_INLINE static void narrow(DF, hn::Vec<DF> value, std::uint16_t* to) {
    const Bits<DF> du;
    const auto rounded = shift_to_even<16>(hn::BitCast(du, value), hn::Set(du, 1U));
    hn::StoreU(hn::TruncateTo(Narrow<DF>(), rounded), Narrow<DF>(), to);
  }
};

struct Float16 {
  static constexpr std::uint16_t infinity = 0x7c00;
  static constexpr std::uint16_t nan = 0x7e00;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
  // These targets have conversion instructions, which round to nearest even whatever the thread's mode.
  template <class DF>
  HWY_INLINE static hn::Vec<DF> widen(DF df, const std::uint16_t* from) {
    const hn::Rebind<hwy::float16_t, DF> dh;
    return hn::PromoteTo(df, hn::BitCast(dh, hn::LoadU(Narrow<DF>(), from)));
  }

  template <class DF>
  HWY_INLINE static void narrow(DF, hn::Vec<DF> value, std::uint16_t* to) {
    const hn::Rebind<hwy::float16_t, DF> dh;
    hn::StoreU(hn::BitCast(Narrow<DF>(), hn::DemoteTo(dh, value)), Narrow<DF>(), to);
  }
#else
  template <class DF>
  HWY_INLINE static hn::Vec<DF> widen(DF df, const std::uint16_t* from) {
    const Bits<DF> du;
    const auto half = hn::PromoteTo(du, hn::LoadU(Narrow<DF>(), from));
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(du, 0x8000U)));
    const auto magnitude = hn::And(half, hn::Set(du, 0x7fffU));
    const auto fields = hn::ShiftLeft<13>(magnitude);
    const auto normal = hn::Add(fields, hn::Set(du, 112U << 23));
    const auto special = hn::Or(fields, hn::Set(du, 0x7f800000U));
    // A subnormal m stands for m * 2^-24: with the exponent of 2^-14 it reads 2^-14 + m * 2^-24. The
    // difference is exact and a normal float32.
    const auto offset = hn::Set(du, 113U << 23);
    const auto subnormal =
        hn::BitCast(du, hn::Sub(hn::BitCast(df, hn::Add(fields, offset)), hn::BitCast(df, offset)));
    auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x0400U)), subnormal, normal);
    bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7bffU)), special, bits);
    return hn::BitCast(df, hn::Or(bits, sign));
  }

  template <class DF>
  HWY_INLINE static void narrow(DF df, hn::Vec<DF> value, std::uint16_t* to) {
    const Bits<DF> du;
    const auto all = hn::BitCast(du, value);
    const auto magnitude = hn::And(all, hn::Set(du, 0x7fffffffU));
    const auto sign = hn::ShiftRight<16>(hn::AndNot(hn::Set(du, 0x7fffffffU), all));
    const auto normal = shift_to_even<13>(hn::Sub(magnitude, hn::Set(du, 112U << 23)), hn::Set(du, 1U));
    // The last place of 0.5 is 2^-24, as that of a subnormal result: the addition rounds.
    const auto half = hn::Set(df, 0.5F);
    const auto subnormal =
        hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), half)), hn::BitCast(du, half));
    auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(du, 0x38800000U)), subnormal, normal);  // 2^-14
    bits =
        hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x477fffffU)), hn::Set(du, 0x7c00U), bits);  // 2^16 on
    bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7f800000U)), hn::Set(du, 0x7e00U), bits);
    hn::StoreU(hn::TruncateTo(Narrow<DF>(), hn::Or(bits, sign)), Narrow<DF>(), to);
  }
#endif
};

template <class Half>
struct Sum {
  using Memory = std::uint16_t;
  using Lane = float;
  std::size_t divisor = 0;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* from) const {
    return Half::widen(d, from);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Add(all, next);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, std::uint16_t* to) const {
    Half::narrow(d, finished(d, all, divisor), to);
  }
};

template <class Half>
struct Product {
  using Memory = std::uint16_t;
  using Lane = float;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* from) const {
    return Half::widen(d, from);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Mul(all, next);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, std::uint16_t* to) const {
    Half::narrow(d, canonical(d, all), to);
  }
};

/// The maximum, over bits alone; the minimum is the maximum of the negated elements, negated. Magnitude and
/// sign become a two's complement key that orders like the values, -0 below +0 and NaN, made canonical, above
/// all.
template <class Half, bool Largest>
struct Extreme {
  using Memory = std::uint16_t;
  using Lane = std::int16_t;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const std::uint16_t* from) const {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(d, hn::LoadU(du, from));
    const auto nan = hn::Gt(hn::And(bits, hn::Set(d, std::int16_t{0x7fff})),
                            hn::Set(d, static_cast<std::int16_t>(Half::infinity)));
    const auto key = folded(d, negated_for_min(d, bits));
    return hn::IfThenElse(nan, hn::Set(d, static_cast<std::int16_t>(Half::nan)), key);
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Max(all, next);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, std::uint16_t* to) const {
    const hn::RebindToUnsigned<D> du;
    const auto nan = hn::Set(d, static_cast<std::int16_t>(Half::nan));
    const auto bits = hn::IfThenElse(hn::Eq(all, nan), nan, negated_for_min(d, folded(d, all)));
    hn::StoreU(hn::BitCast(du, bits), du, to);
  }

 private:
  /// Bits to key and back.
  template <class D>
  HWY_INLINE static hn::Vec<D> folded(D d, hn::Vec<D> bits) {
    return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, std::int16_t{0x7fff})));
  }
  template <class D>
  HWY_INLINE static hn::Vec<D> negated_for_min(D d, hn::Vec<D> bits) {
    if constexpr (Largest) {
      return bits;
    } else {
      return hn::Xor(bits, hn::Set(d, hwy::LimitsMin<std::int16_t>()));
    }
  }
};

template <class Half>
ReduceKernel half(ReduceOp op) {
  if (op == ReduceOp::sum) return dividing<Sum<Half>>;
  if (op == ReduceOp::product) return plain<Product<Half>>;
  if (op == ReduceOp::min) return plain<Extreme<Half, false>>;
  if (op == ReduceOp::max) return plain<Extreme<Half, true>>;
  return nullptr;
}

ReduceKernel pick_half(DType dtype, ReduceOp op) {
  if (dtype == DType::float16) return half<Float16>(op);
  if (dtype == DType::bfloat16) return half<BFloat16>(op);
  return nullptr;
}

}  // namespace
}  // namespace rondo::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::tensor {

HWY_EXPORT(pick_half);

ReduceKernel half_kernel(DType dtype, ReduceOp op) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_half)(dtype, op);
}

}  // namespace rondo::tensor
#endif
