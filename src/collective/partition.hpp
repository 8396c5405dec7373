#pragma once
/// How a vector is cut: into one segment per rank, and segments into chunks. Arithmetic only.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace rondo::collective {

/// A run of elements (or bytes, where there is no type).
struct Range {
  std::size_t begin = 0;
  std::size_t size = 0;

  constexpr std::size_t end() const noexcept { return begin + size; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

constexpr std::size_t round_down(std::size_t bytes, std::size_t to) noexcept { return bytes / to * to; }

/// Part `index` of `count` elements cut into `parts` near-equal parts: the first count % parts of them are
/// one longer.
constexpr Range part_of(std::size_t count, int parts, int index) noexcept {
  const auto n = static_cast<std::size_t>(parts);
  const auto i = static_cast<std::size_t>(index);
  const std::size_t longer = count % n;
  return {count / n * i + std::min(i, longer), count / n + (i < longer ? 1 : 0)};
}

/// Number of chunks of a segment. At least one: an empty segment travels as one empty chunk, so that every
/// step carries its stamp.
constexpr std::size_t chunk_count(std::size_t size, std::size_t chunk) noexcept {
  return size == 0 ? 1 : size / chunk + (size % chunk != 0 ? 1 : 0);
}

/// Chunk `index` of a range; empty beyond its end.
constexpr Range chunk_of(Range range, std::size_t chunk, std::size_t index) noexcept {
  const std::size_t skipped = std::min(range.size, chunk * index);
  return {range.begin + skipped, std::min(chunk, range.size - skipped)};
}

/// Elements of a chunk of about `bytes` bytes: a multiple of 64 where that many fit, at least one.
constexpr std::size_t chunk_elements(std::size_t bytes, std::size_t element_bytes) noexcept {
  const std::size_t elements = bytes / element_bytes;
  return elements >= 64 ? elements / 64 * 64 : std::max<std::size_t>(elements, 1);
}

/// The elements of `range` out of memory that holds elements of `element_bytes` bytes.
template <class Byte>
constexpr std::span<Byte> cut(std::span<Byte> memory, Range range, std::size_t element_bytes = 1) noexcept {
  return memory.subspan(range.begin * element_bytes, range.size * element_bytes);
}

/// One range per rank.
class Segments {
 public:
  /// Consecutive, with the given sizes.
  explicit Segments(std::span<const std::size_t> sizes) {
    ranges_.reserve(sizes.size());
    std::size_t begin = 0;
    for (const std::size_t size : sizes) {
      ranges_.push_back({begin, size});
      begin += size;
    }
  }
  /// Consecutive and near-equal, over `whole`.
  Segments(Range whole, int parts) {
    ranges_.reserve(static_cast<std::size_t>(parts));
    for (int i = 0; i < parts; ++i) {
      const Range part = part_of(whole.size, parts, i);
      ranges_.push_back({whole.begin + part.begin, part.size});
    }
  }

  int size() const noexcept { return static_cast<int>(ranges_.size()); }
  Range operator[](int rank) const noexcept { return ranges_[static_cast<std::size_t>(rank)]; }
  std::size_t longest() const noexcept {
    std::size_t longest = 0;
    for (const Range& range : ranges_) longest = std::max(longest, range.size);
    return longest;
  }
  /// Chunk `index` of every segment.
  Segments slab(std::size_t chunk, std::size_t index) const {
    Segments slab(*this);
    for (Range& range : slab.ranges_) range = chunk_of(range, chunk, index);
    return slab;
  }

 private:
  std::vector<Range> ranges_;
};

}  // namespace rondo::collective
