// Shapes of results, and what must hold for them.

#include <fmt/format.h>

#include <limits>

#include "backend/call.hpp"

namespace rondo::backend {

namespace {

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

bool multiply(std::size_t a, std::size_t b, std::size_t& out) noexcept {
  return !__builtin_mul_overflow(a, b, &out);
}

std::optional<std::size_t> sum(std::span<const std::size_t> counts) noexcept {
  std::size_t total = 0;
  for (const std::size_t count : counts) {
    if (__builtin_add_overflow(total, count, &total)) return std::nullopt;
  }
  return total;
}

}  // namespace

std::size_t counted_rows(std::string_view verb, std::span<const std::size_t> counts, Seat seat) {
  if (counts.size() != static_cast<std::size_t>(seat.size)) {
    invalid(fmt::format("{}: {} counts given, expected one per rank ({})", verb, counts.size(), seat.size));
  }
  const auto total = sum(counts);
  if (!total) invalid(fmt::format("{}: the sum of the counts overflows", verb));
  return *total;
}

std::size_t row_elements(std::span<const std::int64_t> shape) {
  return element_count(shape.empty() ? shape : shape.subspan(1));
}

Shape all_to_all_v_shape(DType dtype, std::span<const std::int64_t> in,
                         std::span<const std::size_t> send_counts, std::span<const std::size_t> recv_counts,
                         Seat seat) {
  const auto n = static_cast<std::size_t>(seat.size);
  if (in.empty()) invalid("all_to_all_v input must have a leading row dimension");
  if (send_counts.size() != n || recv_counts.size() != n) {
    invalid(fmt::format("all_to_all_v requires {} send counts and receive counts, got {} and {}", n,
                        send_counts.size(), recv_counts.size()));
  }
  const auto sent = sum(send_counts);
  if (!sent) invalid("all_to_all_v send count sum overflowed usize");
  const auto received = sum(recv_counts);
  if (!received) invalid("all_to_all_v receive count sum overflowed usize");
  const auto row_count = static_cast<std::size_t>(in[0]);
  if (*sent != row_count) {
    invalid(
        fmt::format("all_to_all_v send count sum {} does not match input row count {}", *sent, row_count));
  }
  std::size_t row_bytes = size_of(dtype);
  for (const std::int64_t extent : in.subspan(1)) {
    if (!multiply(row_bytes, static_cast<std::size_t>(extent), row_bytes)) {
      invalid("all_to_all_v row byte size overflowed usize");
    }
  }
  std::size_t ignored = 0;
  if (!multiply(row_bytes, *received, ignored)) invalid("all_to_all_v output byte size overflowed usize");
  for (std::size_t peer = 0; peer < n; ++peer) {
    if (!multiply(row_bytes, send_counts[peer], ignored)) {
      invalid(fmt::format("all_to_all_v send byte size for peer {} overflowed usize", peer));
    }
    if (!multiply(row_bytes, recv_counts[peer], ignored)) {
      invalid(fmt::format("all_to_all_v receive byte size for peer {} overflowed usize", peer));
    }
  }
  if (n == 1 && send_counts[0] != recv_counts[0]) {
    invalid("all_to_all_v singleton send and receive counts must match");
  }
  const auto self = static_cast<std::size_t>(seat.rank);
  if (send_counts[self] != recv_counts[self]) {
    invalid(fmt::format("all_to_all_v self send count {} does not match self receive count {}",
                        send_counts[self], recv_counts[self]));
  }
  if (*received > most / 2) invalid("all_to_all_v output byte size overflowed usize");
  Shape out(in.begin(), in.end());
  out[0] = static_cast<std::int64_t>(*received);
  return out;
}

Shape all_gather_shape(std::span<const std::int64_t> in, Seat seat) {
  if (in.empty()) return {seat.size};
  Shape out(in.begin(), in.end());
  if (__builtin_mul_overflow(out[0], static_cast<std::int64_t>(seat.size), &out[0])) {
    invalid(fmt::format("all_gather: {} rows x {} ranks overflow", in[0], seat.size));
  }
  return out;
}

Shape all_gather_v_shape(std::span<const std::int64_t> in, std::span<const std::size_t> counts, Seat seat,
                         std::string_view verb) {
  const std::size_t total = counted_rows(verb, counts, seat);
  if (in.empty()) invalid(fmt::format("{} requires a non-scalar input", verb));
  const std::size_t own = counts[static_cast<std::size_t>(seat.rank)];
  if (static_cast<std::size_t>(in[0]) != own) {
    invalid(fmt::format("{}: in has {} rows, counts[{}] is {}", verb, in[0], seat.rank, own));
  }
  if (total > most / 2) invalid(fmt::format("{}: the sum of the counts overflows", verb));
  Shape out(in.begin(), in.end());
  out[0] = static_cast<std::int64_t>(total);
  return out;
}

Shape reduce_scatter_shape(std::span<const std::int64_t> in, Seat seat) {
  if (in.empty()) invalid("sum-scatter requires a non-scalar input");
  if (in[0] % seat.size != 0) {
    invalid(fmt::format("sum-scatter input's first dimension ({}) is not divisible by group size ({})", in[0],
                        seat.size));
  }
  Shape out(in.begin(), in.end());
  out[0] /= seat.size;
  return out;
}

Shape reduce_scatter_v_shape(std::span<const std::int64_t> in, std::span<const std::size_t> counts,
                             Seat seat) {
  const std::size_t total = counted_rows("reduce_scatter_v", counts, seat);
  if (in.empty()) invalid("reduce_scatter_v requires a non-scalar input");
  if (static_cast<std::size_t>(in[0]) != total) {
    invalid(fmt::format("reduce_scatter_v: in has {} rows, the counts sum to {}", in[0], total));
  }
  Shape out(in.begin(), in.end());
  out[0] = static_cast<std::int64_t>(counts[static_cast<std::size_t>(seat.rank)]);
  return out;
}

Shape all_to_all_shape(std::span<const std::int64_t> in, Seat seat) {
  if (in.empty()) invalid("all_to_all requires a non-scalar input");
  if (in[0] % seat.size != 0) {
    invalid(fmt::format("all_to_all input's first dimension ({}) is not divisible by group size ({})", in[0],
                        seat.size));
  }
  return Shape(in.begin(), in.end());
}

}  // namespace rondo::backend
