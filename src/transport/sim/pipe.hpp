#pragma once
/// An in-process byte pipe, the twin of a socket: bounded, one writer, one reader.

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/scheduler.hpp"
#include "net/stream.hpp"

namespace rondo::transport::sim {

/// One direction. The writer and the reader may be different threads; each side is one thread at a time.
class Pipe {
 public:
  /// `reader` is rung when bytes arrive, `writer` when a writer that found no room may go on; both on close.
  Pipe(std::size_t capacity, base::Event& reader, base::Event& writer);

  net::Moved write(std::span<const std::byte> first, std::span<const std::byte> second);
  net::Moved read(std::span<std::byte> memory);
  void close_writer() noexcept;
  void close_reader() noexcept;

 private:
  std::size_t copy_in(std::uint64_t at, std::span<const std::byte> from, std::size_t room) noexcept;

  const std::size_t capacity_;
  base::Event& reader_;
  base::Event& writer_;
  std::unique_ptr<std::byte[]> ring_;  // made by the writer at its first byte
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
  std::atomic<bool> writer_waits_{false};
  std::atomic<bool> writer_closed_{false};
  std::atomic<bool> reader_closed_{false};
};

/// Both directions of one end. The pipes live in the world's hub, which outlives its streams.
class PipeStream final : public net::Stream {
 public:
  PipeStream(Pipe& in, Pipe& out) noexcept : in_(in), out_(out) {}
  ~PipeStream() override { shutdown(); }
  net::Moved read(std::span<std::byte> memory) override { return in_.read(memory); }
  net::Moved writev(std::span<const std::byte> first, std::span<const std::byte> second) override {
    return out_.write(first, second);
  }
  void shutdown() noexcept override {
    out_.close_writer();
    in_.close_reader();
  }

 private:
  Pipe& in_;
  Pipe& out_;
};

}  // namespace rondo::transport::sim
