#pragma once
/// Strided views and flat memory: copying between them, and where a view's elements lie.

#include <cstddef>
#include <span>

#include "rondo/view.hpp"

namespace rondo::tensor {

/// Copies the elements behind `from` to `to`, in logical order without gaps. `to` holds exactly from.bytes()
/// bytes and does not overlap the view.
void pack(const ConstView& from, std::span<std::byte> to);

/// The inverse of pack: writes elements that lie in logical order to the places that `to` names.
/// `from` holds exactly to.bytes() bytes and does not overlap the view.
void unpack(std::span<const std::byte> from, const View& to);

/// The bytes from `begin` up to, not including, `end`.
struct MemoryRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;

  bool empty() const noexcept { return begin == end; }
  friend bool operator==(const MemoryRange&, const MemoryRange&) = default;
};

/// The smallest range that holds every element of `view`; empty when there is none. Gaps between elements
/// count as part of it.
MemoryRange memory_range(const ConstView& view) noexcept;

/// Whether the two ranges share a byte.
bool overlaps(const MemoryRange& a, const MemoryRange& b) noexcept;

}  // namespace rondo::tensor
