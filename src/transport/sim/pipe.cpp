#include "transport/sim/pipe.hpp"

namespace rondo::transport::sim {

Pipe::Pipe(std::size_t capacity, base::Event& reader, base::Event& writer)
    : capacity_(capacity), reader_(reader), writer_(writer) {}

net::Moved Pipe::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  if (!memory_) memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  const ByteRing::Result result = ring().write(first, second);
  if (result.wake) reader_.ring();
  return result.moved;
}

net::Moved Pipe::read(std::span<std::byte> memory) {
  const ByteRing::Result result = ring().read(memory);
  if (result.wake) writer_.ring();
  return result.moved;
}

void Pipe::close_writer() noexcept {
  ring().close_writer();
  reader_.ring();
}

void Pipe::close_reader() noexcept {
  ring().close_reader();
  writer_.ring();
}

}  // namespace rondo::transport::sim
