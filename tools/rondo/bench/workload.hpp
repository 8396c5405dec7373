#pragma once
/// One call with its memory, ready to be made again and again, and then checked.

#include <cstddef>
#include <vector>

#include "bench/exact.hpp"
#include "bench/verb.hpp"
#include "rondo/group.hpp"

namespace rondo::tools::bench {

/// What is measured in one row.
struct Case {
  BenchVerb verb = BenchVerb::all_reduce;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;  ///< where the verb reduces
  int root = 0;                 ///< where it has one
  std::size_t count = 0;        ///< elements, per part where the size is that of n parts
  bool in_place = false;
  bool shared = false;  ///< in memory of Group::allocate, instead of this rank's own
};

class Workload {
 public:
  /// Throws Error when there is no such call, std::runtime_error when there is no memory for it.
  Workload(const Group& group, const Case& what);

  /// One call on every rank; what is timed.
  void call();
  /// How many operations a call stands for: 2 messages of a ping-pong, a window of them, else 1.
  std::size_t operations() const noexcept;
  /// Fills the inputs, and the memory of the result with what is no result.
  void prepare();
  /// After prepare() and one call(): elements of this rank's result that are not what they must be.
  std::size_t wrong();
  /// This rank's result.
  View result() const noexcept { return out_; }

 private:
  void ping_pong();
  void send_window();
  bool at_root() const noexcept { return group_.rank() == case_.root; }
  void fill_input();
  void fill_expected(const View& out) const;

  Group group_;
  Case case_;
  std::size_t window_ = 1;
  std::vector<Tensor> memory_;
  View in_;   // what this rank gives; in place a part of the result or all of it
  View out_;  // what this rank gets
};

}  // namespace rondo::tools::bench
