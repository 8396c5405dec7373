#include "op/pieces.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace rondo::tools::op {

namespace {

void grow(std::vector<std::byte>& scratch, std::size_t bytes) {
  if (scratch.size() < bytes) scratch.resize(bytes);
}

}  // namespace

Pieces::Pieces(DType dtype, Counts parts, std::size_t step)
    : dtype_(dtype),
      parts_(std::move(parts)),
      step_(step),
      whole_(std::ranges::all_of(parts_, [&](std::size_t part) { return part <= step_; })) {}

Counts Pieces::counts(std::size_t k) const {
  Counts counts;
  for (const std::size_t part : parts_)
    counts.push_back(part > k * step_ ? std::min(step_, part - k * step_) : 0);
  return counts;
}

std::size_t Pieces::count(std::size_t k) const {
  const Counts all = counts(k);
  return std::accumulate(all.begin(), all.end(), std::size_t{0});
}

std::size_t Pieces::offset(std::size_t part, std::size_t k) const {
  if (parts_.empty()) return 0;
  const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(part);
  const std::size_t before = std::accumulate(parts_.begin(), end, std::size_t{0});
  return (before + std::min(k * step_, parts_[part])) * size_of(dtype_);
}

ConstView Source::piece(std::size_t k) {
  if (file_ == nullptr) return {pieces_.dtype(), static_cast<const void*>(nullptr), pieces_.count(k)};
  const std::byte* const elements = file_->elements();
  if (pieces_.gapless())
    return {pieces_.dtype(), static_cast<const void*>(elements + pieces_.offset(0, k)), pieces_.count(k)};
  grow(scratch_, pieces_.bytes(k));
  std::byte* to = scratch_.data();
  pieces_.each(k, [&](std::size_t from, std::size_t bytes) {
    std::memcpy(to, elements + from, bytes);
    to += bytes;
  });
  return {pieces_.dtype(), static_cast<const void*>(scratch_.data()), pieces_.count(k)};
}

void Source::settle(std::size_t k) const {
  if (file_ == nullptr) return;
  pieces_.each(k, [&](std::size_t from, std::size_t bytes) { file_->release(from, bytes); });
}

View Sink::piece(std::size_t k) {
  if (direct())
    return {pieces_.dtype(), static_cast<void*>(file_->elements() + pieces_.offset(0, k)), pieces_.count(k)};
  grow(scratch_, pieces_.bytes(k));
  return {pieces_.dtype(), static_cast<void*>(scratch_.data()), pieces_.count(k)};
}

void Sink::settle(std::size_t k) {
  if (file_ == nullptr) return;
  const std::byte* from = scratch_.data();
  pieces_.each(k, [&](std::size_t to, std::size_t bytes) {
    if (!direct()) {
      std::memcpy(file_->elements() + to, from, bytes);
      from += bytes;
    }
    file_->release(to, bytes);
  });
}

std::size_t piece_count(std::size_t longest, std::size_t step) noexcept {
  return std::max<std::size_t>(1, longest / step + (longest % step > 0 ? 1 : 0));
}

}  // namespace rondo::tools::op
