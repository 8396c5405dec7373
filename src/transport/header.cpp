#include "transport/header.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/problem.hpp"

namespace rondo::transport {

namespace {

constexpr std::byte magic_0{'R'};
constexpr std::byte magic_1{'D'};
constexpr std::size_t check_offset = 28;

template <class T>
void put(std::byte* at, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

template <class T>
T get(const std::byte* at) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(at[i]) << (8 * i)));
  }
  return value;
}

// Hash of a header with its check field taken as 0.
std::uint32_t check_of(const std::byte* bytes, std::size_t length) noexcept {
  HeaderBytes copy;
  std::memcpy(copy.data(), bytes, length);
  put<std::uint32_t>(copy.data() + check_offset, 0);
  return static_cast<std::uint32_t>(XXH3_64bits(copy.data(), length));
}

bool known(FrameKind kind) noexcept {
  switch (kind) {
    case FrameKind::skip:
    case FrameKind::goodbye:
    case FrameKind::presence:
    case FrameKind::part:
    case FrameKind::eager:
    case FrameKind::offer:
    case FrameKind::accept:
    case FrameKind::refuse:
    case FrameKind::withdraw:
    case FrameKind::gone:
    case FrameKind::data:
    case FrameKind::credit:
      return true;
  }
  return false;
}

[[noreturn]] void corrupt(const std::string& what) {
  throw base::Problem(ErrorKind::disconnected, -1, "a corrupt frame header arrived: " + what);
}

}  // namespace

std::string_view to_string(Verb verb) noexcept {
  switch (verb) {
    case Verb::none:
      return "none";
    case Verb::all_reduce:
      return "all_reduce";
    case Verb::all_gather:
      return "all_gather";
    case Verb::all_gather_v:
      return "all_gather_v";
    case Verb::reduce_scatter:
      return "reduce_scatter";
    case Verb::reduce_scatter_v:
      return "reduce_scatter_v";
    case Verb::broadcast:
      return "broadcast";
    case Verb::reduce:
      return "reduce";
    case Verb::gather:
      return "gather";
    case Verb::gather_v:
      return "gather_v";
    case Verb::scatter:
      return "scatter";
    case Verb::scatter_v:
      return "scatter_v";
    case Verb::all_to_all:
      return "all_to_all";
    case Verb::all_to_all_v:
      return "all_to_all_v";
    case Verb::barrier:
      return "barrier";
    case Verb::split:
      return "split";
    case Verb::plan:
      return "plan_all_to_all_v";
  }
  return "?";
}

std::string_view name_of(Verb verb, ReduceOp op) noexcept {
  if (verb == Verb::all_reduce && op == ReduceOp::sum) return "all_sum";
  if (verb == Verb::all_reduce && op == ReduceOp::max) return "all_max";
  if (verb == Verb::all_reduce && op == ReduceOp::min) return "all_min";
  if (verb == Verb::reduce_scatter && op == ReduceOp::sum) return "sum_scatter";
  if (verb == Verb::reduce_scatter_v && op == ReduceOp::sum) return "sum_scatter_v";
  return to_string(verb);
}

std::string to_string(const Stamp& stamp) {
  const std::string_view name = name_of(stamp.verb, stamp.op);
  std::string text = fmt::format("{} #{}", name, stamp.number);
  std::string inside;
  const auto add = [&](const std::string& item) { inside += (inside.empty() ? "" : ", ") + item; };
  const bool reduces = stamp.verb == Verb::reduce || stamp.verb == Verb::reduce_scatter ||
                       stamp.verb == Verb::reduce_scatter_v || stamp.verb == Verb::all_reduce;
  if (stamp.verb != Verb::barrier && stamp.verb != Verb::split && stamp.verb != Verb::plan) {
    add(std::string(to_string(stamp.dtype)));
    if (reduces && name == to_string(stamp.verb)) add(std::string(to_string(stamp.op)));
    add(fmt::format("{} elements{}", stamp.count, stamp.verb == Verb::all_to_all_v ? " a row" : ""));
  }
  if (stamp.root >= 0) add(fmt::format("root {}", stamp.root));
  if (stamp.name_hash != 0) add(fmt::format("name and counts {:016x}", stamp.name_hash));
  return inside.empty() ? text : text + " (" + inside + ")";
}

bool operator==(const Header& a, const Header& b) {
  HeaderBytes left;
  HeaderBytes right;
  const std::size_t length = encode(a, left);
  return length == encode(b, right) && std::memcmp(left.data(), right.data(), length) == 0;
}

std::size_t encode(const Header& header, HeaderBytes& out) noexcept {
  std::byte* at = out.data();
  at[0] = magic_0;
  at[1] = magic_1;
  put<std::uint8_t>(at + 2, Header::version);
  put<std::uint8_t>(at + 3, static_cast<std::uint8_t>((header.lane == Lane::message ? 0x80U : 0U) |
                                                      static_cast<unsigned>(header.kind)));
  put<std::uint8_t>(at + 4, static_cast<std::uint8_t>(header.verb));
  put<std::uint8_t>(at + 5, static_cast<std::uint8_t>(header.op));
  put<std::uint8_t>(at + 6, static_cast<std::uint8_t>(header.dtype));
  put<std::uint8_t>(at + 7, static_cast<std::uint8_t>(header.dims.size));
  put<std::uint32_t>(at + 8, header.sequence);
  put<std::uint32_t>(at + 12, header.part);
  put<std::uint64_t>(at + 16, header.number);
  put<std::uint32_t>(at + 24, static_cast<std::uint32_t>(header.root_or_tag));
  put<std::uint32_t>(at + check_offset, 0);
  put<std::uint64_t>(at + 32, header.count);
  put<std::uint64_t>(at + 40, header.bytes);
  put<std::uint64_t>(at + 48, header.name_hash);
  put<std::uint64_t>(at + 56, header.payload_hash);
  const auto dims = static_cast<std::size_t>(header.dims.size);
  for (std::size_t i = 0; i < dims; ++i) {
    put<std::uint64_t>(at + Header::fixed_bytes + 8 * i, static_cast<std::uint64_t>(header.dims.value[i]));
  }
  const std::size_t length = Header::fixed_bytes + 8 * dims;
  put<std::uint32_t>(at + check_offset, check_of(at, length));
  return length;
}

std::optional<std::size_t> header_length(std::span<const std::byte> fixed) noexcept {
  if (fixed.size() < Header::fixed_bytes || fixed[0] != magic_0 || fixed[1] != magic_1 ||
      std::to_integer<std::uint8_t>(fixed[2]) != Header::version) {
    return std::nullopt;
  }
  const auto dims = std::to_integer<std::size_t>(fixed[7]);
  if (dims > static_cast<std::size_t>(max_dims)) return std::nullopt;
  return Header::fixed_bytes + 8 * dims;
}

Header decode(std::span<const std::byte> bytes) {
  const auto length = header_length(bytes);
  if (!length) {
    if (bytes.size() >= Header::fixed_bytes && bytes[0] == magic_0 && bytes[1] == magic_1) {
      corrupt(fmt::format("version {} with {} axes, expected version {} and at most {} axes",
                          std::to_integer<int>(bytes[2]), std::to_integer<int>(bytes[7]), Header::version,
                          max_dims));
    }
    corrupt("it does not begin with RD");
  }
  if (*length != bytes.size()) corrupt(fmt::format("{} bytes, expected {}", bytes.size(), *length));
  const std::byte* at = bytes.data();
  if (get<std::uint32_t>(at + check_offset) != check_of(at, *length)) corrupt("its check does not match");

  Header header;
  const auto lane_and_kind = get<std::uint8_t>(at + 3);
  header.lane = (lane_and_kind & 0x80U) != 0 ? Lane::message : Lane::collective;
  header.kind = static_cast<FrameKind>(lane_and_kind & 0x7fU);
  if (!known(header.kind)) corrupt(fmt::format("unknown frame kind {}", lane_and_kind & 0x7fU));
  header.verb = static_cast<Verb>(get<std::uint8_t>(at + 4));
  if (header.verb > Verb::plan) corrupt(fmt::format("unknown verb {}", get<std::uint8_t>(at + 4)));
  header.op = static_cast<ReduceOp>(get<std::uint8_t>(at + 5));
  if (static_cast<int>(header.op) >= reduce_op_count) {
    corrupt(fmt::format("unknown reduction {}", get<std::uint8_t>(at + 5)));
  }
  header.dtype = static_cast<DType>(get<std::uint8_t>(at + 6));
  if (static_cast<int>(header.dtype) >= dtype_count) {
    corrupt(fmt::format("unknown dtype {}", get<std::uint8_t>(at + 6)));
  }
  header.sequence = get<std::uint32_t>(at + 8);
  header.part = get<std::uint32_t>(at + 12);
  header.number = get<std::uint64_t>(at + 16);
  header.root_or_tag = static_cast<std::int32_t>(get<std::uint32_t>(at + 24));
  header.count = get<std::uint64_t>(at + 32);
  header.bytes = get<std::uint64_t>(at + 40);
  header.name_hash = get<std::uint64_t>(at + 48);
  header.payload_hash = get<std::uint64_t>(at + 56);
  header.dims.size = std::to_integer<int>(at[7]);
  for (int i = 0; i < header.dims.size; ++i) {
    const auto extent = static_cast<std::int64_t>(get<std::uint64_t>(at + Header::fixed_bytes + 8 * i));
    if (extent < 0) corrupt(fmt::format("axis {} has the negative extent {}", i, extent));
    header.dims.value[static_cast<std::size_t>(i)] = extent;
  }
  return header;
}

std::uint64_t payload_hash(std::span<const std::byte> payload) noexcept {
  const std::uint64_t hash = XXH3_64bits(payload.data(), payload.size());
  return hash == 0 ? 1 : hash;
}

}  // namespace rondo::transport
