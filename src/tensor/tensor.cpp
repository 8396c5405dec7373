#include "rondo/tensor.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <ostream>
#include <utility>

#include "rondo/error.hpp"
#include "tensor/layout.hpp"

namespace rondo {

namespace {

/// Cache lines, and every vector register there is.
constexpr std::align_val_t alignment{64};

/// Memory of its own for every tensor, also for an empty one: shares_memory_with compares addresses.
std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new(bytes > 0 ? bytes : 1, alignment));
  // When the control block cannot be had, shared_ptr calls the deleter.
  return {memory, [](std::byte* owned) { ::operator delete(owned, alignment); }};
}

void check_same_count(std::span<const std::int64_t> shape, std::size_t count) {
  const std::size_t asked = element_count(shape);
  if (asked != count) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("shape {}: {} elements, expected {}", to_string(shape), asked, count));
  }
}

}  // namespace

Tensor::Tensor() : Tensor(DType::float32, {0}) {}

Tensor::Tensor(DType dtype, std::span<const std::int64_t> shape) : dtype_(dtype) {
  const std::size_t size = byte_size(dtype, shape);
  shape_.assign(shape.begin(), shape.end());
  count_ = size / size_of(dtype);
  data_ = allocate(size);
  std::memset(data_.get(), 0, size);
}

Tensor::Tensor(DType dtype, std::initializer_list<std::int64_t> shape)
    : Tensor(dtype, std::span(shape.begin(), shape.size())) {}

Tensor::Tensor(ConstView view) : Tensor(view, view.shape(), Reshape{}) {}

Tensor::Tensor(ConstView values, std::span<const std::int64_t> shape, Reshape)
    : dtype_(values.dtype()), shape_(shape.begin(), shape.end()), count_(values.count()) {
  check_same_count(shape, count_);
  data_ = allocate(values.bytes());
  tensor::pack(values, {data_.get(), values.bytes()});
}

Tensor::Tensor(DType dtype, std::span<const std::int64_t> shape, std::shared_ptr<std::byte> memory)
    : dtype_(dtype),
      shape_(shape.begin(), shape.end()),
      count_(element_count(shape)),
      data_(std::move(memory)) {}

DType Tensor::dtype() const noexcept { return dtype_; }

const Shape& Tensor::shape() const noexcept { return shape_; }

std::size_t Tensor::count() const noexcept { return count_; }

std::size_t Tensor::bytes() const noexcept { return count_ * size_of(dtype_); }

View Tensor::view() { return {dtype_, data_.get(), std::span<const std::int64_t>(shape_)}; }

ConstView Tensor::view() const { return {dtype_, data_.get(), std::span<const std::int64_t>(shape_)}; }

Tensor Tensor::reshape(std::span<const std::int64_t> shape) const {
  check_same_count(shape, count_);
  Tensor result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  return result;
}

Tensor Tensor::reshape(std::initializer_list<std::int64_t> shape) const {
  return reshape(std::span(shape.begin(), shape.size()));
}

Tensor Tensor::clone() const { return Tensor(view()); }

bool Tensor::shares_memory_with(const Tensor& other) const noexcept { return data_ == other.data_; }

void* Tensor::checked(DType asked) const {
  if (asked != dtype_) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("span of {}: the tensor holds {}", to_string(asked), to_string(dtype_)));
  }
  return data_.get();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << "Tensor " << tensor.dtype() << ' ' << to_string(tensor.shape());
}

}  // namespace rondo
