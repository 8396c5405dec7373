/// The table of algorithms.

#include "collective/select.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "base/check.hpp"

namespace rondo::collective {

using transport::Verb;

std::string_view to_string(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::ring:
      return "ring";
    case Algorithm::recursive_doubling:
      return "recursive_doubling";
    case Algorithm::one_shot:
      return "one_shot";
    case Algorithm::direct:
      return "direct";
    case Algorithm::binomial:
      return "binomial";
    case Algorithm::linear:
      return "linear";
    case Algorithm::pairwise:
      return "pairwise";
    case Algorithm::dissemination:
      return "dissemination";
    case Algorithm::flat:
      return "flat";
  }
  return "?";
}

namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t any_bytes = std::numeric_limits<std::size_t>::max();
constexpr int any_size = std::numeric_limits<int>::max();
constexpr int yes = 1;
constexpr int no = 0;
constexpr int either = -1;

// Where ranks share memory, a frame costs two copies as well, so the flat algorithms win at every size where
// they exist. Elsewhere, with a latency of some 20 us a frame and 0.3 ns a byte (TCP on one host or a fast
// network): one-shot while n - 1 vectors are about as cheap as one frame; recursive doubling while the 2 (n -
// 1) - ceil(log2 n) steps that it saves over the ring outweigh its bytes; direct while its n - 1 frames at
// once beat as many in a row. Types that must be combined once never get ring, recursive doubling or binomial
// reduction.
constexpr Row rows[] = {
    {Verb::all_reduce, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::all_reduce, 4 * KiB, 2, 16, no, either, Algorithm::one_shot},
    {Verb::all_reduce, 64 * KiB, 2, 2, no, yes, Algorithm::one_shot},
    {Verb::all_reduce, 16 * KiB, 3, 4, no, yes, Algorithm::one_shot},
    {Verb::all_reduce, 1 * KiB, 17, 64, no, yes, Algorithm::one_shot},
    {Verb::all_reduce, any_bytes, 2, any_size, no, yes, Algorithm::direct},
    {Verb::all_reduce, 256 * KiB, 2, 2, no, no, Algorithm::recursive_doubling},
    {Verb::all_reduce, 128 * KiB, 3, 4, no, no, Algorithm::recursive_doubling},
    {Verb::all_reduce, 256 * KiB, 5, 16, no, no, Algorithm::recursive_doubling},
    {Verb::all_reduce, 512 * KiB, 17, any_size, no, no, Algorithm::recursive_doubling},
    {Verb::all_reduce, any_bytes, 2, any_size, no, no, Algorithm::ring},

    {Verb::reduce_scatter, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::reduce_scatter, any_bytes, 2, any_size, no, yes, Algorithm::direct},
    {Verb::reduce_scatter, 256 * KiB, 2, any_size, no, no, Algorithm::direct},
    {Verb::reduce_scatter, any_bytes, 2, any_size, no, no, Algorithm::ring},
    {Verb::reduce_scatter_v, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::reduce_scatter_v, any_bytes, 2, any_size, no, yes, Algorithm::direct},
    {Verb::reduce_scatter_v, 256 * KiB, 2, any_size, no, no, Algorithm::direct},
    {Verb::reduce_scatter_v, any_bytes, 2, any_size, no, no, Algorithm::ring},

    {Verb::all_gather, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::all_gather, 256 * KiB, 2, any_size, no, either, Algorithm::direct},
    {Verb::all_gather, any_bytes, 2, any_size, no, either, Algorithm::ring},
    {Verb::all_gather_v, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::all_gather_v, 256 * KiB, 2, any_size, no, either, Algorithm::direct},
    {Verb::all_gather_v, any_bytes, 2, any_size, no, either, Algorithm::ring},

    {Verb::broadcast, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::broadcast, any_bytes, 2, any_size, no, either, Algorithm::binomial},

    {Verb::reduce, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::reduce, any_bytes, 2, any_size, no, yes, Algorithm::direct},
    {Verb::reduce, any_bytes, 2, 2, no, no, Algorithm::binomial},
    {Verb::reduce, 256 * KiB, 3, any_size, no, no, Algorithm::binomial},
    {Verb::reduce, any_bytes, 3, any_size, no, no, Algorithm::direct},

    {Verb::gather, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::gather, any_bytes, 2, any_size, no, either, Algorithm::linear},
    {Verb::gather_v, any_bytes, 2, any_size, either, either, Algorithm::linear},
    {Verb::scatter, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::scatter, any_bytes, 2, any_size, no, either, Algorithm::linear},
    {Verb::scatter_v, any_bytes, 2, any_size, either, either, Algorithm::linear},
    {Verb::all_to_all, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::all_to_all, any_bytes, 2, any_size, no, either, Algorithm::pairwise},
    {Verb::all_to_all_v, any_bytes, 2, any_size, either, either, Algorithm::pairwise},

    {Verb::barrier, any_bytes, 2, any_size, yes, either, Algorithm::flat},
    {Verb::barrier, any_bytes, 2, any_size, no, either, Algorithm::dissemination},
};

bool allows(int wanted, bool fact) noexcept { return wanted == either || (wanted == yes) == fact; }

bool fits(const Row& row, const Facts& facts) noexcept {
  return row.verb == facts.verb && facts.bytes >= row.bytes_from && facts.bytes <= row.bytes_to &&
         facts.size >= row.size_from && facts.size <= row.size_to && allows(row.arena, facts.arena) &&
         allows(row.combines_once, facts.combines_once);
}

std::string bytes_text(std::size_t bytes) {
  if (bytes == any_bytes) return "any";
  constexpr std::size_t MiB = 1024 * KiB;
  if (bytes >= MiB && bytes % MiB == 0) return fmt::format("{} MiB", bytes / MiB);
  if (bytes >= KiB && bytes % KiB == 0) return fmt::format("{} KiB", bytes / KiB);
  return fmt::format("{} B", bytes);
}

std::string ranks_text(int from, int to) {
  if (to == any_size) return fmt::format("{}..", from);
  return from == to ? fmt::format("{}", from) : fmt::format("{}..{}", from, to);
}

std::string_view flag_text(int wanted) { return wanted == either ? "any" : wanted == yes ? "yes" : "no"; }

}  // namespace

std::span<const Row> default_table() noexcept { return rows; }

Algorithm select(std::span<const Row> table, const Facts& facts) {
  for (const Row& row : table) {
    if (fits(row, facts)) return row.algorithm;
  }
  base::broken_invariant("the table of algorithms covers every call", __FILE__, __LINE__);
}

std::string to_string(std::span<const Row> table) {
  constexpr auto line = "{:<17} {:>8} {:>8}  {:<8} {:<7} {:<14} {}\n";
  std::string text =
      fmt::format(line, "collective", "from", "up to", "ranks", "arena", "combined once", "algorithm");
  for (const Row& row : table) {
    fmt::format_to(std::back_inserter(text), line, transport::to_string(row.verb),
                   row.bytes_from == 0 ? "0" : bytes_text(row.bytes_from), bytes_text(row.bytes_to),
                   ranks_text(row.size_from, row.size_to), flag_text(row.arena), flag_text(row.combines_once),
                   to_string(row.algorithm));
  }
  return text;
}

}  // namespace rondo::collective
