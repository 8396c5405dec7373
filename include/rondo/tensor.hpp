#pragma once
/// Tensor: an owning value of known shape and element type.

#include <iosfwd>
#include <memory>
#include <span>

#include "rondo/export.hpp"
#include "rondo/view.hpp"

namespace RONDO_EXPORT rondo {

class Group;

/// A shared handle to row-major memory: copying a Tensor shares its elements, clone() copies them.
/// Different threads may use different handles; the elements themselves are as thread-safe as an array.
class Tensor {
 public:
  /// An empty vector of float32.
  Tensor();
  /// `shape` elements of `dtype`, all zero. Throws Error(invalid_argument) as byte_size does.
  Tensor(DType dtype, std::span<const std::int64_t> shape);
  Tensor(DType dtype, std::initializer_list<std::int64_t> shape);
  /// A copy of the elements behind `view`, in logical order.
  explicit Tensor(ConstView view);
  /// A copy of `values` (a vector, span, array) with `shape`, whose element count must be that of `values`.
  template <detail::ElementRange R>
  Tensor(const R& values, std::span<const std::int64_t> shape)
      : Tensor(ConstView(values), shape, Reshape{}) {}
  template <detail::ElementRange R>
  Tensor(const R& values, std::initializer_list<std::int64_t> shape)
      : Tensor(ConstView(values), std::span(shape.begin(), shape.size()), Reshape{}) {}
  template <Element T>
  static Tensor of(std::initializer_list<T> values) {
    return Tensor(ConstView(std::span<const T>(values.begin(), values.size())));
  }
  /// A 0-dimensional tensor.
  template <Element T>
  static Tensor scalar(T value) {
    return Tensor(ConstView(dtype_of<T>, &value, std::span<const std::int64_t>()));
  }

  DType dtype() const noexcept;
  const Shape& shape() const noexcept;
  std::size_t count() const noexcept;
  std::size_t bytes() const noexcept;

  /// The elements, typed. Throws Error(invalid_argument) when T is not the element type.
  template <Element T>
  std::span<T> span() {
    return {static_cast<T*>(checked(dtype_of<T>)), count()};
  }
  template <Element T>
  std::span<const T> span() const {
    return {static_cast<const T*>(checked(dtype_of<T>)), count()};
  }
  /// The elements as a view; valid while any handle to them lives.
  View view();
  ConstView view() const;
  operator ConstView() const { return view(); }  // NOLINT: implicit on purpose

  /// The same elements under another shape of equal count; shares memory.
  Tensor reshape(std::span<const std::int64_t> shape) const;
  Tensor reshape(std::initializer_list<std::int64_t> shape) const;
  /// A copy with memory of its own.
  Tensor clone() const;
  /// True when both handles name the same memory.
  bool shares_memory_with(const Tensor& other) const noexcept;

 private:
  struct Reshape {};
  Tensor(ConstView values, std::span<const std::int64_t> shape, Reshape);
  friend class Group;
  /// Row-major memory that holds `shape` elements.
  Tensor(DType dtype, std::span<const std::int64_t> shape, std::shared_ptr<std::byte> memory);
  void* checked(DType asked) const;

  DType dtype_;
  Shape shape_;
  std::size_t count_;
  std::shared_ptr<std::byte> data_;
};

/// "Tensor float32 [2, 2]".
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace rondo
