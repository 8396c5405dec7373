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
  // The memory may be in the making: it is there once the first bytes are.
  if (state_.written.load(std::memory_order_acquire) == 0) {
    const bool ended = state_.writer_closed.load(std::memory_order_seq_cst) &&
                       state_.written.load(std::memory_order_seq_cst) == 0;
    return {ended ? net::Moved::State::closed : net::Moved::State::blocked, 0};
  }
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
