#pragma once
/// Calls as data: their verb, their checks, their text. One place for all backends.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/call.hpp"
#include "rondo/error.hpp"
#include "transport/header.hpp"

namespace rondo::backend {

using transport::Verb;

/// One rank's place in a group, as far as checks need it.
struct Seat {
  int rank;
  int size;
};

Verb verb_of(const Collective& call) noexcept;
/// The name that errors call it by: "all_sum", "broadcast".
std::string_view name_of(const Collective& call) noexcept;

/// Throws Error(invalid_argument or unsupported) when the call is wrong by itself. Nothing has moved then.
/// The text is the bare cause; GroupBackend adds rank and group.
void validate(const Collective& call, Seat seat);

/// Checks a peer: `verb: dst_rank 5 >= world_size 2` and its kin; `side` is "dst_rank", "src_rank" or "peer".
void validate_peer(std::string_view verb, std::string_view side, int peer, Seat seat);
void validate_tag(std::string_view verb, int tag, bool wildcard);
/// The checks of one message; `wildcard` receives may name any_source and any_tag.
void validate(std::string_view verb, const Message& message, Seat seat);

/// The checks of all_to_all_v, in their documented order, without any I/O. Returns the shape of the result.
Shape all_to_all_v_shape(DType dtype, std::span<const std::int64_t> in,
                         std::span<const std::size_t> send_counts, std::span<const std::size_t> recv_counts,
                         Seat seat);

// Shapes of results, with their checks. For a group of one callers return the input instead.
Shape all_gather_shape(std::span<const std::int64_t> in, Seat seat);
Shape all_gather_v_shape(std::span<const std::int64_t> in, std::span<const std::size_t> counts, Seat seat,
                         std::string_view verb);
Shape reduce_scatter_shape(std::span<const std::int64_t> in, Seat seat);
Shape reduce_scatter_v_shape(std::span<const std::int64_t> in, std::span<const std::size_t> counts,
                             Seat seat);
Shape all_to_all_shape(std::span<const std::int64_t> in, Seat seat);

/// The sum of one count per rank; `verb` stands in errors.
std::size_t counted_rows(std::string_view verb, std::span<const std::size_t> counts, Seat seat);

/// Elements in a row: the product of all extents but the first.
std::size_t row_elements(std::span<const std::int64_t> shape);

[[noreturn]] void invalid(const std::string& text);

}  // namespace rondo::backend
