#pragma once
/// Inputs and results in pieces: piece k has elements [k * step, (k + 1) * step) of every part. So files
/// larger than memory go through, and each call has its own time limit.

#include <cstddef>
#include <vector>

#include "op/files.hpp"
#include "op/options.hpp"
#include "rondo/view.hpp"

namespace rondo::tools::op {

/// Parts that lie one behind the other, and where a piece of them is. No parts: nothing, in any piece.
class Pieces {
 public:
  Pieces(DType dtype, Counts parts, std::size_t step);

  DType dtype() const noexcept { return dtype_; }
  /// Elements of each part in piece k.
  Counts counts(std::size_t k) const;
  /// Elements of all parts in piece k.
  std::size_t count(std::size_t k) const;
  std::size_t bytes(std::size_t k) const { return count(k) * size_of(dtype_); }
  /// Calls `action(from, bytes)` for what piece k has of each part.
  template <class Action>
  void each(std::size_t k, const Action& action) const {
    const Counts all = counts(k);
    for (std::size_t part = 0; part < all.size(); ++part)
      if (all[part] > 0) action(offset(part, k), all[part] * size_of(dtype_));
  }
  /// Bytes before the first element of piece k of a part.
  std::size_t offset(std::size_t part, std::size_t k) const;
  /// Whether the parts of a piece have no gaps between them.
  bool gapless() const noexcept { return whole_ || parts_.size() == 1; }

 private:
  DType dtype_;
  Counts parts_;
  std::size_t step_;
  bool whole_;  // the first piece has all
};

/// Where an operation reads from; no file: it reads nothing.
class Source {
 public:
  Source(Pieces pieces, const Input* file) : pieces_(std::move(pieces)), file_(file) {}
  const Pieces& pieces() const noexcept { return pieces_; }
  /// The parts of piece k without gaps; valid until the next call.
  ConstView piece(std::size_t k);
  /// Piece k has been read: memory holds no more of the file than a piece.
  void settle(std::size_t k) const;

 private:
  Pieces pieces_;
  const Input* file_;
  std::vector<std::byte> scratch_;
};

/// Where an operation writes to. Without a file the result is given up.
class Sink {
 public:
  Sink(Pieces pieces, const Output* file) : pieces_(std::move(pieces)), file_(file) {}
  const Pieces& pieces() const noexcept { return pieces_; }
  /// Where the parts of piece k are to be written, without gaps.
  View piece(std::size_t k);
  /// Brings piece k to its place after it was written. Memory holds no more of the file than a piece.
  void settle(std::size_t k);

 private:
  bool direct() const noexcept { return file_ != nullptr && pieces_.gapless(); }

  Pieces pieces_;
  const Output* file_;
  std::vector<std::byte> scratch_;
};

/// How many pieces there are when the longest part of any rank has `longest` elements: at least one, so that
/// an operation on nothing is still checked by the library.
std::size_t piece_count(std::size_t longest, std::size_t step) noexcept;

}  // namespace rondo::tools::op
