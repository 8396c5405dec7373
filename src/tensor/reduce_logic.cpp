/// Logical reductions, bit reductions, and all reductions of bool. They see unsigned bits only.

#include "tensor/reduce_parts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/reduce_logic.cpp"
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on
#include "tensor/reduce-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rondo::tensor::HWY_NAMESPACE {
namespace {

/// 1 where the element counts as true: any bit of `Mask` set. The mask leaves out the sign of a float, so
/// that -0 is false, as 0 is.
template <class T, T One, T Mask>
struct Truth {
  using Memory = T;
  using Lane = T;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const T* from) const {
    return hn::And(hn::LoadU(d, from), hn::Set(d, Mask));
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, T* to) const {
    hn::StoreU(hn::IfThenElseZero(hn::Ne(all, hn::Zero(d)), hn::Set(d, One)), d, to);
  }
};

template <class T, T One, T Mask>
struct LogicalAnd : Truth<T, One, Mask> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D d, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::IfThenZeroElse(hn::Eq(next, hn::Zero(d)), all);
  }
};

template <class T, T One, T Mask>
struct LogicalOr : Truth<T, One, Mask> {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Or(all, next);
  }
};

/// Exclusive or of bools, any non-zero byte read as true.
struct BoolXor : Truth<std::uint8_t, 1, 0xff> {
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const std::uint8_t* from) const {
    return hn::IfThenElseZero(hn::Ne(hn::LoadU(d, from), hn::Zero(d)), hn::Set(d, std::uint8_t{1}));
  }
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Xor(all, next);
  }
};

struct Bytes {
  using Memory = std::uint8_t;
  using Lane = std::uint8_t;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const std::uint8_t* from) const {
    return hn::LoadU(d, from);
  }
  template <class D>
  HWY_INLINE void store(D d, hn::Vec<D> all, std::uint8_t* to) const {
    hn::StoreU(all, d, to);
  }
};

struct BitAnd : Bytes {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::And(all, next);
  }
};

struct BitOr : Bytes {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Or(all, next);
  }
};

struct BitXor : Bytes {
  template <class D>
  HWY_INLINE hn::Vec<D> combine(D, hn::Vec<D> all, hn::Vec<D> next) const {
    return hn::Xor(all, next);
  }
};

/// Bit reductions do not care where an element ends: `Size` bytes each, all one kernel.
template <class Op, std::size_t Size>
void bytewise(void* out, Inputs in, std::size_t count, std::size_t) {
  reduce(Op{}, out, in, count * Size);
}

template <class Op>
ReduceKernel of_width(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return bytewise<Op, 1>;
    case 2:
      return bytewise<Op, 2>;
    case 4:
      return bytewise<Op, 4>;
    case 8:
      return bytewise<Op, 8>;
    default:
      return nullptr;
  }
}

template <class T, T One, T Mask>
ReduceKernel logical(ReduceOp op) {
  if (op == ReduceOp::logical_and) return plain<LogicalAnd<T, One, Mask>>;
  if (op == ReduceOp::logical_or) return plain<LogicalOr<T, One, Mask>>;
  return nullptr;
}

ReduceKernel pick_bool(ReduceOp op) {
  switch (op) {
    case ReduceOp::min:
    case ReduceOp::bit_and:
    case ReduceOp::logical_and:
      return plain<LogicalAnd<std::uint8_t, 1, 0xff>>;
    case ReduceOp::max:
    case ReduceOp::bit_or:
    case ReduceOp::logical_or:
      return plain<LogicalOr<std::uint8_t, 1, 0xff>>;
    case ReduceOp::bit_xor:
      return plain<BoolXor>;
    case ReduceOp::sum:
    case ReduceOp::product:
    case ReduceOp::mean:
      break;
  }
  return nullptr;
}

ReduceKernel pick_logical(DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::int8:
    case DType::uint8:
      return logical<std::uint8_t, 1, 0xff>(op);
    case DType::int16:
    case DType::uint16:
      return logical<std::uint16_t, 1, 0xffff>(op);
    case DType::int32:
    case DType::uint32:
      return logical<std::uint32_t, 1, 0xffffffffU>(op);
    case DType::int64:
    case DType::uint64:
      return logical<std::uint64_t, 1, ~std::uint64_t{0}>(op);
    case DType::float16:
      return logical<std::uint16_t, 0x3c00, 0x7fff>(op);
    case DType::bfloat16:
      return logical<std::uint16_t, 0x3f80, 0x7fff>(op);
    case DType::float32:
      return logical<std::uint32_t, 0x3f800000U, 0x7fffffffU>(op);
    case DType::float64:
      return logical<std::uint64_t, 0x3ff0000000000000U, 0x7fffffffffffffffU>(op);
    case DType::bool_:
    case DType::complex64:
    case DType::complex128:
    case DType::float8_e4m3:
    case DType::float8_e5m2:
      break;
  }
  return nullptr;
}

ReduceKernel pick_logic(DType dtype, ReduceOp op) {
  if (dtype == DType::bool_) return pick_bool(op);
  switch (op) {
    case ReduceOp::bit_and:
      return of_width<BitAnd>(dtype);
    case ReduceOp::bit_or:
      return of_width<BitOr>(dtype);
    case ReduceOp::bit_xor:
      return of_width<BitXor>(dtype);
    case ReduceOp::logical_and:
    case ReduceOp::logical_or:
      return pick_logical(dtype, op);
    case ReduceOp::sum:
    case ReduceOp::product:
    case ReduceOp::min:
    case ReduceOp::max:
    case ReduceOp::mean:
      break;
  }
  return nullptr;
}

}  // namespace
}  // namespace rondo::tensor::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rondo::tensor {

HWY_EXPORT(pick_logic);

ReduceKernel logic_kernel(DType dtype, ReduceOp op) noexcept {
  return HWY_DYNAMIC_DISPATCH(pick_logic)(dtype, op);
}

}  // namespace rondo::tensor
#endif
