#pragma once
/// What `rondo op` was asked for.

#include <CLI/App.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/dtype.hpp"

namespace rondo::tools::op {

/// What is done; the names of the command line are in options.cpp.
enum class OpKind : std::uint8_t {
  all_reduce,
  reduce,
  all_gather,
  all_gather_v,
  gather,
  gather_v,
  reduce_scatter,
  reduce_scatter_v,
  broadcast,
  scatter,
  scatter_v,
  all_to_all,
  all_to_all_v,
  sendrecv,
  barrier,
};

using Counts = std::vector<std::size_t>;

struct OpOptions {
  std::string name;  ///< as it was called: "all_sum"
  OpKind kind = OpKind::barrier;
  ReduceOp op = ReduceOp::sum;
  std::string input;                          ///< with {rank} and {size} still in it
  std::string output;                         ///< likewise
  int root = 0;                               ///< the sender of sendrecv too
  int to = 0;                                 ///< the receiver of sendrecv
  Counts counts;                              ///< rows of scatter_v and reduce_scatter_v
  std::vector<Counts> send_counts;            ///< rows of all_to_all_v: a list for each rank, or one for all
  std::size_t piece = std::size_t{64} << 20;  ///< bytes that a rank has under way at once
  bool progress = false;
};

/// The command line is wrong. Its text goes behind "rondo op: ".
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The words as they stand on the command line, before anything is made of them.
struct OpWords {
  std::string operation, input, output, op, counts, send_counts;
  std::optional<std::string> root, from, to, piece;
  bool progress = false;
};

/// Adds the subcommand `op`, which fills `words` when it is parsed.
CLI::App* add_op(CLI::App& app, OpWords& words);

/// What the words mean. Throws UsageError.
OpOptions read_words(const OpWords& words);

/// `pattern` with {rank} and {size} replaced; all else stays.
std::string file_name(std::string pattern, int rank, int size);

/// Whether the names that `pattern` gives differ between ranks.
bool names_each_rank(std::string_view pattern) noexcept;

}  // namespace rondo::tools::op
