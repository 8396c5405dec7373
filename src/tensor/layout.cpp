#include "tensor/layout.hpp"

#include <cstring>
#include <functional>

#include "base/check.hpp"

namespace rondo::tensor {

namespace {

/// A layout reduced to what a copy needs: axes of one element dropped, neighbours that form one run merged,
/// strides in bytes. Always at least one axis.
struct Walk {
  std::array<std::int64_t, max_dims + 1> extent{};
  std::array<std::int64_t, max_dims + 1> stride{};
  std::size_t axes = 0;
  std::size_t element = 0;  ///< bytes of what is copied at once; for runs without gaps the whole run
};

Walk walk_of(const detail::Layout& layout) noexcept {
  Walk walk;
  walk.element = size_of(layout.dtype());
  const auto size = static_cast<std::int64_t>(walk.element);
  for (std::size_t axis = 0; axis < layout.shape().size(); ++axis) {
    const std::int64_t extent = layout.shape()[axis];
    if (extent == 1) continue;
    const std::int64_t stride = layout.strides()[axis] * size;
    if (walk.axes > 0 && walk.stride[walk.axes - 1] == extent * stride) {
      walk.extent[walk.axes - 1] *= extent;
      walk.stride[walk.axes - 1] = stride;
      continue;
    }
    walk.extent[walk.axes] = extent;
    walk.stride[walk.axes] = stride;
    ++walk.axes;
  }
  if (walk.axes > 0 && walk.stride[walk.axes - 1] == size) {
    --walk.axes;
    walk.element *= static_cast<std::size_t>(walk.extent[walk.axes]);
  }
  if (walk.axes == 0) {
    walk.extent[0] = 1;
    walk.axes = 1;
  }
  return walk;
}

/// Calls row(address offset, position) for every row along the innermost axis, in logical order; position
/// counts elements.
template <class Row>
void for_each_row(const Walk& walk, Row row) {
  const std::size_t outer = walk.axes - 1;
  std::array<std::int64_t, max_dims + 1> index{};
  std::int64_t offset = 0;
  std::size_t position = 0;
  while (true) {
    row(offset, position);
    position += static_cast<std::size_t>(walk.extent[outer]);
    std::size_t axis = outer;
    while (axis > 0 && ++index[axis - 1] == walk.extent[axis - 1]) {
      --axis;
      index[axis] = 0;
      offset -= (walk.extent[axis] - 1) * walk.stride[axis];
    }
    if (axis == 0) return;
    offset += walk.stride[axis - 1];
  }
}

/// Copies walk.extent elements of `size` bytes between a strided row and flat memory. With `Size` > 0 the
/// size is known to the compiler, which makes one load and one store of each element.
template <std::size_t Size, bool Pack, class Strided, class Flat>
void copy_rows(const Walk& walk, Strided* strided, Flat* flat) {
  const std::size_t size = Size > 0 ? Size : walk.element;
  const std::int64_t extent = walk.extent[walk.axes - 1];
  const std::int64_t stride = walk.stride[walk.axes - 1];
  for_each_row(walk, [=](std::int64_t offset, std::size_t position) {
    Flat* place = flat + position * size;
    for (std::int64_t i = 0; i < extent; ++i, place += size) {
      if constexpr (Pack) {
        std::memcpy(place, strided + offset + i * stride, size);
      } else {
        std::memcpy(strided + offset + i * stride, place, size);
      }
    }
  });
}

template <bool Pack, class Strided, class Flat>
void copy(const detail::Layout& layout, Strided* strided, Flat* flat) {
  if (layout.count() == 0) return;
  const Walk walk = walk_of(layout);
  switch (walk.element) {
    case 1:
      return copy_rows<1, Pack>(walk, strided, flat);
    case 2:
      return copy_rows<2, Pack>(walk, strided, flat);
    case 4:
      return copy_rows<4, Pack>(walk, strided, flat);
    case 8:
      return copy_rows<8, Pack>(walk, strided, flat);
    case 16:
      return copy_rows<16, Pack>(walk, strided, flat);
    default:
      return copy_rows<0, Pack>(walk, strided, flat);
  }
}

}  // namespace

void pack(const ConstView& from, std::span<std::byte> to) {
  RONDO_INVARIANT(to.size() == from.bytes());
  copy<true>(from, from.data(), to.data());
}

void unpack(std::span<const std::byte> from, const View& to) {
  RONDO_INVARIANT(from.size() == to.bytes());
  copy<false>(to, to.data(), from.data());
}

MemoryRange memory_range(const ConstView& view) noexcept {
  if (view.count() == 0) return {view.data(), view.data()};
  const auto size = static_cast<std::int64_t>(size_of(view.dtype()));
  std::int64_t below = 0;
  std::int64_t above = size;
  for (std::size_t axis = 0; axis < view.shape().size(); ++axis) {
    const std::int64_t reach = (view.shape()[axis] - 1) * view.strides()[axis] * size;
    (reach < 0 ? below : above) += reach;
  }
  return {view.data() + below, view.data() + above};
}

bool overlaps(const MemoryRange& a, const MemoryRange& b) noexcept {
  // std::less orders unrelated pointers too, the operator need not.
  const std::less<const std::byte*> less;
  return !a.empty() && !b.empty() && less(a.begin, b.end) && less(b.begin, a.end);
}

}  // namespace rondo::tensor
