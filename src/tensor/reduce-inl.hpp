/// The loop that all reductions share, compiled once for each vector target; included through
/// hwy/foreach_target.h.
///
/// A reduction is a struct with
///   using Memory = ...;                   the type of an element in memory, as unsigned bits or a float
///   using Lane = ...;                     the type of an accumulator's lane, at least as wide
///   V load(D d, const Memory* from)       Lanes(d) elements as accumulators
///   V combine(D d, V all, V next)
///   void store(D d, V all, Memory* to)    what is left to do at the end, and the way back
/// Accumulators stay in registers over all inputs, so that each input is read once and the result written
/// once, whatever their number.

#if defined(RONDO_TENSOR_REDUCE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef RONDO_TENSOR_REDUCE_INL
#undef RONDO_TENSOR_REDUCE_INL
#else
#define RONDO_TENSOR_REDUCE_INL
#endif

#include <cstring>
#include <span>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rondo::tensor::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Inputs = std::span<const void* const>;

/// Input `index` from element `at` on.
template <class T>
HWY_INLINE const T* input(Inputs in, std::size_t index, std::size_t at) {
  return static_cast<const T*>(in[index]) + at;
}

/// One vector of results.
template <class Op, class D>
HWY_INLINE void reduce_vector(const Op& op, D d, typename Op::Memory* to, Inputs in, std::size_t at) {
  using T = typename Op::Memory;
  auto all = op.load(d, input<T>(in, 0, at));
  for (std::size_t k = 1; k < in.size(); ++k) all = op.combine(d, all, op.load(d, input<T>(in, k, at)));
  op.store(d, all, to);
}

/// Four vectors of results: enough independent work to hide the latency of one operation.
template <class Op, class D>
HWY_INLINE void reduce_four(const Op& op, D d, typename Op::Memory* to, Inputs in, std::size_t at) {
  using T = typename Op::Memory;
  const std::size_t step = hn::Lanes(d);
  const T* from = input<T>(in, 0, at);
  auto a = op.load(d, from);
  auto b = op.load(d, from + step);
  auto c = op.load(d, from + 2 * step);
  auto e = op.load(d, from + 3 * step);
  for (std::size_t k = 1; k < in.size(); ++k) {
    from = input<T>(in, k, at);
    a = op.combine(d, a, op.load(d, from));
    b = op.combine(d, b, op.load(d, from + step));
    c = op.combine(d, c, op.load(d, from + 2 * step));
    e = op.combine(d, e, op.load(d, from + 3 * step));
  }
  op.store(d, a, to);
  op.store(d, b, to + step);
  op.store(d, c, to + 2 * step);
  op.store(d, e, to + 3 * step);
}

/// The rest, shorter than a vector, by way of padded copies: the same instructions see every element,
/// wherever it lies, and nothing is touched beyond the end.
template <class Op, class D>
HWY_INLINE void reduce_rest(const Op& op, D d, typename Op::Memory* to, Inputs in, std::size_t at,
                            std::size_t count) {
  using T = typename Op::Memory;
  HWY_ALIGN T padded[hn::MaxLanes(d)] = {};
  std::memcpy(padded, input<T>(in, 0, at), count * sizeof(T));
  auto all = op.load(d, padded);
  for (std::size_t k = 1; k < in.size(); ++k) {
    std::memcpy(padded, input<T>(in, k, at), count * sizeof(T));
    all = op.combine(d, all, op.load(d, padded));
  }
  op.store(d, all, padded);
  std::memcpy(to, padded, count * sizeof(T));
}

template <class Op>
HWY_NOINLINE void reduce(const Op& op, void* out, Inputs in, std::size_t count) {
  const hn::ScalableTag<typename Op::Lane> d;
  auto* to = static_cast<typename Op::Memory*>(out);
  const std::size_t step = hn::Lanes(d);
  std::size_t at = 0;
  if (in.size() == 2) {
    // The hot case, with a number of inputs that the compiler knows.
    const void* const both[2] = {in[0], in[1]};
    for (; at + 4 * step <= count; at += 4 * step) reduce_four(op, d, to + at, Inputs(both), at);
  } else {
    for (; at + 4 * step <= count; at += 4 * step) reduce_four(op, d, to + at, in, at);
  }
  for (; at + step <= count; at += step) reduce_vector(op, d, to + at, in, at);
  if (at < count) reduce_rest(op, d, to + at, in, at, count - at);
}

/// A ReduceKernel of a reduction that needs no parameters.
template <class Op>
void plain(void* out, Inputs in, std::size_t count, std::size_t) {
  reduce(Op{}, out, in, count);
}

/// A ReduceKernel of a reduction that divides at the end.
template <class Op>
void dividing(void* out, Inputs in, std::size_t count, std::size_t divisor) {
  reduce(Op{divisor}, out, in, count);
}

/// `bits` as a float lane in every place.
template <class DF>
HWY_INLINE hn::Vec<DF> set_bits(DF df, hn::TFromD<hn::RebindToUnsigned<DF>> bits) {
  return hn::BitCast(df, hn::Set(hn::RebindToUnsigned<DF>(), bits));
}

template <class Float>
struct FloatBits;
template <>
struct FloatBits<float> {
  static constexpr std::uint32_t nan = 0x7fc00000U;
  static constexpr std::uint32_t sign = 0x80000000U;
};
template <>
struct FloatBits<double> {
  static constexpr std::uint64_t nan = 0x7ff8000000000000U;
  static constexpr std::uint64_t sign = 0x8000000000000000U;
};

/// `value` with every NaN as the canonical quiet one. Not by value != value: on some targets that comparison
/// is an ordered one, which NaN does not pass.
template <class DF>
HWY_INLINE hn::Vec<DF> canonical(DF df, hn::Vec<DF> value) {
  return hn::IfThenElse(hn::IsNaN(value), set_bits(df, FloatBits<hn::TFromD<DF>>::nan), value);
}

/// What a mean does at the end, and a sum when `divisor` is 0.
template <class DF>
HWY_INLINE hn::Vec<DF> finished(DF df, hn::Vec<DF> sum, std::size_t divisor) {
  if (divisor > 0) sum = hn::Div(sum, hn::Set(df, static_cast<hn::TFromD<DF>>(divisor)));
  return canonical(df, sum);
}

}  // namespace rondo::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RONDO_TENSOR_REDUCE_INL
