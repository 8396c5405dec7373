#pragma once
/// An in-process byte pipe, the twin of a socket: bounded, one writer, one reader.

#include <cstddef>
#include <memory>

#include "base/scheduler.hpp"
#include "net/stream.hpp"
#include "transport/byte_ring.hpp"

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
  ByteRing ring() noexcept { return {state_, memory_.get(), capacity_}; }

  const std::size_t capacity_;
  base::Event& reader_;
  base::Event& writer_;
  std::unique_ptr<std::byte[]> memory_;  // made by the writer at its first byte
  RingState state_;
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
