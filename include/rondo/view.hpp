#pragma once
/// Views: dtype, shape and strides over memory that belongs to somebody else.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "rondo/dtype.hpp"
#include "rondo/export.hpp"

namespace RONDO_EXPORT rondo {

/// Extents, slowest axis first. An empty shape is a scalar: one element.
using Shape = std::vector<std::int64_t>;

/// At most this many axes: message headers carry every extent.
inline constexpr int max_dims = 8;

/// "[2, 3]", "[]" for a scalar.
std::string to_string(std::span<const std::int64_t> shape);

/// Number of elements of `shape`. Throws Error(invalid_argument) for more than max_dims axes, a negative
/// extent, or a product that does not fit std::size_t.
std::size_t element_count(std::span<const std::int64_t> shape);

/// Bytes that `shape` of `dtype` needs, checked like element_count.
std::size_t byte_size(DType dtype, std::span<const std::int64_t> shape);

namespace detail {

/// A short list of extents or strides without an allocation.
struct Dims {
  std::array<std::int64_t, max_dims> value{};
  int size = 0;
  operator std::span<const std::int64_t>() const noexcept {
    return {value.data(), static_cast<std::size_t>(size)};
  }
};

/// What View and ConstView have in common: everything but the memory.
class Layout {
 public:
  DType dtype() const noexcept { return dtype_; }
  /// Extents, slowest axis first.
  std::span<const std::int64_t> shape() const noexcept { return shape_; }
  /// Distance between neighbours along each axis, in elements; may be negative or zero (zero only to read
  /// from).
  std::span<const std::int64_t> strides() const noexcept { return strides_; }
  /// Number of elements.
  std::size_t count() const noexcept { return count_; }
  /// Number of payload bytes: count() times the element's size.
  std::size_t bytes() const noexcept { return count_ * size_of(dtype_); }
  /// True when the elements lie in logical order without gaps.
  bool contiguous() const noexcept { return contiguous_; }

 protected:
  Layout(DType dtype, std::size_t count) noexcept;
  Layout(DType dtype, std::span<const std::int64_t> shape);
  Layout(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

 private:
  DType dtype_;
  bool contiguous_ = true;
  std::size_t count_;
  Dims shape_;
  Dims strides_;
};

template <class R>
concept ElementRange =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && Element<std::ranges::range_value_t<R>>;

template <class R>
concept MutableElementRange = ElementRange<R> && std::ranges::borrowed_range<R> &&
    !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

}  // namespace detail

/// Memory to write to (and read from). The memory must outlive every call that was given the view; nothing
/// else may touch it while such a call runs. Distinct indices must name distinct elements.
class View : public detail::Layout {
 public:
  /// All of `range` (a vector, span, array) as one axis.
  template <detail::MutableElementRange R>
  View(R&& range)  // NOLINT: implicit on purpose, so that calls take vectors and spans
      : View(dtype_of<std::ranges::range_value_t<R>>, std::ranges::data(range), std::ranges::size(range)) {}

  /// `shape` elements at `data`, in row-major order.
  template <Element T>
  View(T* data, std::span<const std::int64_t> shape) : View(dtype_of<T>, data, shape) {}
  template <Element T>
  View(T* data, std::initializer_list<std::int64_t> shape)
      : View(dtype_of<T>, data, std::span(shape.begin(), shape.size())) {}

  /// `shape` elements; index (i, j, ...) lies at data + i * strides[0] + j * strides[1] + ... (in elements).
  template <Element T>
  View(T* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
      : View(dtype_of<T>, data, shape, strides) {}
  template <Element T>
  View(T* data, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides)
      : View(dtype_of<T>, data, std::span(shape.begin(), shape.size()),
             std::span(strides.begin(), strides.size())) {}

  /// The same with the type known only at run time.
  View(DType dtype, void* data, std::size_t count) noexcept;
  View(DType dtype, void* data, std::span<const std::int64_t> shape);
  View(DType dtype, void* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

  std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_;
};

/// Memory to read from. The rules of View hold, except that strides may repeat elements.
class ConstView : public detail::Layout {
 public:
  template <detail::ElementRange R>
  ConstView(const R& range)  // NOLINT: implicit on purpose
      : ConstView(dtype_of<std::ranges::range_value_t<R>>, std::ranges::data(range),
                  std::ranges::size(range)) {}
  ConstView(const View& view) noexcept : Layout(view), data_(view.data()) {}  // NOLINT: implicit on purpose

  template <Element T>
  ConstView(const T* data, std::span<const std::int64_t> shape) : ConstView(dtype_of<T>, data, shape) {}
  template <Element T>
  ConstView(const T* data, std::initializer_list<std::int64_t> shape)
      : ConstView(dtype_of<T>, data, std::span(shape.begin(), shape.size())) {}
  template <Element T>
  ConstView(const T* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
      : ConstView(dtype_of<T>, data, shape, strides) {}
  template <Element T>
  ConstView(const T* data, std::initializer_list<std::int64_t> shape,
            std::initializer_list<std::int64_t> strides)
      : ConstView(dtype_of<T>, data, std::span(shape.begin(), shape.size()),
                  std::span(strides.begin(), strides.size())) {}

  ConstView(DType dtype, const void* data, std::size_t count) noexcept;
  ConstView(DType dtype, const void* data, std::span<const std::int64_t> shape);
  ConstView(DType dtype, const void* data, std::span<const std::int64_t> shape,
            std::span<const std::int64_t> strides);

  const std::byte* data() const noexcept { return data_; }

 private:
  const std::byte* data_;
};

}  // namespace rondo
