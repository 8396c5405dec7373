#pragma once
/// .npy files in memory: what is read and what is made.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "op/npy.hpp"
#include "op/temporaries.hpp"

namespace rondo::tools::op {

/// Memory that mmap gave; unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  /// Throws std::runtime_error that begins with the path.
  Mapping(const base::Fd& file, const std::string& path, std::size_t size, int protection, int flags);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// These bytes are not needed soon: the process need not hold them. They are still in the file, or on the
  /// way.
  void release(std::size_t from, std::size_t count) const noexcept;

 private:
  std::span<std::byte> bytes_;
};

/// A file to read, mapped: its pages come and go with what is touched, so it may be larger than memory.
/// It must not be cut by somebody else meanwhile.
class Input {
 public:
  /// Throws std::runtime_error that begins with the path.
  explicit Input(const std::string& path);

  const NpyHeader& header() const noexcept { return header_; }
  const std::byte* elements() const noexcept { return mapping_.bytes().data() + header_.offset; }
  /// `count` bytes of elements, of which the first is at `from`, have been read.
  void release(std::size_t from, std::size_t count) const noexcept {
    mapping_.release(header_.offset + from, count);
  }

 private:
  Mapping mapping_;
  NpyHeader header_;
};

/// A file to make. It has a temporary name beside the final one, and all its space, until commit(); without
/// that nothing of it stays.
class Output {
 public:
  /// Throws std::runtime_error that begins with the path.
  Output(Temporaries& temporaries, std::string path, DType dtype, const Shape& shape);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  std::byte* elements() const noexcept { return mapping_.bytes().data() + offset_; }
  /// `count` bytes of elements, of which the first is at `from`, have been written.
  void release(std::size_t from, std::size_t count) const noexcept {
    mapping_.release(offset_ + from, count);
  }
  /// Returns when all of it is on the disk.
  void sync() const;
  /// The final name; what had it before is replaced.
  void commit();

 private:
  void make_file();
  void reserve(std::size_t size) const;
  [[noreturn]] void fail(const std::string& what, int cause) const;

  Temporaries& temporaries_;
  std::string path_;
  std::string temporary_;
  std::size_t offset_ = 0;
  base::Fd file_;
  Mapping mapping_;
};

}  // namespace rondo::tools::op
