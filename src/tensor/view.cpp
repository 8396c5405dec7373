#include "rondo/view.hpp"

#include <fmt/format.h>

#include <limits>

#include "rondo/error.hpp"

namespace rondo {

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorKind::invalid_argument, text); }

void check_axes(std::span<const std::int64_t> shape) {
  if (shape.size() > static_cast<std::size_t>(max_dims)) {
    refuse(fmt::format("shape {}: {} axes, expected at most {}", to_string(shape), shape.size(), max_dims));
  }
  for (const std::int64_t extent : shape) {
    if (extent < 0) refuse(fmt::format("shape {}: extent {} is negative", to_string(shape), extent));
  }
}

detail::Dims dims_of(std::span<const std::int64_t> list) noexcept {
  detail::Dims dims;
  for (const std::int64_t value : list) dims.value[static_cast<std::size_t>(dims.size++)] = value;
  return dims;
}

/// Strides of row-major elements. Where an extent is zero they mean nothing and may wrap.
detail::Dims row_major(std::span<const std::int64_t> shape) noexcept {
  detail::Dims strides;
  strides.size = static_cast<int>(shape.size());
  std::uint64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides.value[axis] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(shape[axis]);
  }
  return strides;
}

/// Whether walking `strides` visits consecutive elements. Strides along axes of one element do not matter.
bool is_row_major(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) noexcept {
  std::uint64_t expected = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    if (static_cast<std::uint64_t>(strides[axis]) != expected) return false;
    expected *= static_cast<std::uint64_t>(shape[axis]);
  }
  return true;
}

/// Refuses strides whose elements lie further apart than an address can say.
void check_reach(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  std::int64_t below = 0;
  std::int64_t above = static_cast<std::int64_t>(size_of(dtype));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t step = 0;
    std::int64_t& side = strides[axis] < 0 ? below : above;
    const bool overflow = __builtin_mul_overflow(strides[axis], shape[axis] - 1, &step) ||
                          __builtin_mul_overflow(step, static_cast<std::int64_t>(size_of(dtype)), &step) ||
                          __builtin_add_overflow(side, step, &side);
    if (overflow) {
      refuse(fmt::format("strides {} of shape {}: {} elements lie further apart than an address can say",
                         to_string(strides), to_string(shape), to_string(dtype)));
    }
  }
}

/// `strides`, when they may be written through.
std::span<const std::int64_t> writable(std::span<const std::int64_t> shape,
                                       std::span<const std::int64_t> strides) {
  for (std::size_t axis = 0; axis < shape.size() && axis < strides.size(); ++axis) {
    if (strides[axis] == 0 && shape[axis] > 1) {
      refuse(
          fmt::format("strides {} of shape {}: stride 0 names one element {} times, expected distinct "
                      "elements to write to",
                      to_string(strides), to_string(shape), shape[axis]));
    }
  }
  return strides;
}

}  // namespace

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

std::size_t element_count(std::span<const std::int64_t> shape) {
  check_axes(shape);
  for (const std::int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count)) {
      refuse(fmt::format("shape {}: more elements than {}", to_string(shape),
                         std::numeric_limits<std::size_t>::max()));
    }
  }
  return count;
}

std::size_t byte_size(DType dtype, std::span<const std::int64_t> shape) {
  if (static_cast<int>(dtype) >= dtype_count) {
    refuse(
        fmt::format("dtype {}: no such type, expected one below {}", static_cast<int>(dtype), dtype_count));
  }
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(element_count(shape), size_of(dtype), &bytes)) {
    refuse(fmt::format("shape {} of {}: more bytes than {}", to_string(shape), to_string(dtype),
                       std::numeric_limits<std::size_t>::max()));
  }
  return bytes;
}

namespace detail {

Layout::Layout(DType dtype, std::size_t count) noexcept : dtype_(dtype), count_(count) {
  shape_.value[0] = static_cast<std::int64_t>(count);
  shape_.size = 1;
  strides_.value[0] = 1;
  strides_.size = 1;
}

Layout::Layout(DType dtype, std::span<const std::int64_t> shape)
    : dtype_(dtype),
      count_(byte_size(dtype, shape) / size_of(dtype)),
      shape_(dims_of(shape)),
      strides_(row_major(shape)) {}

Layout::Layout(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
    : Layout(dtype, shape) {
  if (strides.size() != shape.size()) {
    refuse(fmt::format("strides {} of shape {}: {} given, expected one for each of {} axes",
                       to_string(strides), to_string(shape), strides.size(), shape.size()));
  }
  strides_ = dims_of(strides);
  if (count_ == 0) return;
  check_reach(dtype, shape, strides);
  contiguous_ = is_row_major(shape, strides);
}

}  // namespace detail

View::View(DType dtype, void* data, std::size_t count) noexcept
    : Layout(dtype, count), data_(static_cast<std::byte*>(data)) {}

View::View(DType dtype, void* data, std::span<const std::int64_t> shape)
    : Layout(dtype, shape), data_(static_cast<std::byte*>(data)) {}

View::View(DType dtype, void* data, std::span<const std::int64_t> shape,
           std::span<const std::int64_t> strides)
    : Layout(dtype, shape, writable(shape, strides)), data_(static_cast<std::byte*>(data)) {}

ConstView::ConstView(DType dtype, const void* data, std::size_t count) noexcept
    : Layout(dtype, count), data_(static_cast<const std::byte*>(data)) {}

ConstView::ConstView(DType dtype, const void* data, std::span<const std::int64_t> shape)
    : Layout(dtype, shape), data_(static_cast<const std::byte*>(data)) {}

ConstView::ConstView(DType dtype, const void* data, std::span<const std::int64_t> shape,
                     std::span<const std::int64_t> strides)
    : Layout(dtype, shape, strides), data_(static_cast<const std::byte*>(data)) {}

}  // namespace rondo
