#pragma once
/// A call whose views are all gapless: strided ones are packed into temporaries, and unpacked when the call
/// is done.

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/call.hpp"

namespace rondo::backend {

class Gapless {
 public:
  Gapless(const Collective& call, Seat seat);
  /// The call to run instead.
  const Collective& call() const noexcept { return call_; }
  /// Writes results back to where the caller wants them.
  void finish();

 private:
  struct Pair {
    View original;
    std::unique_ptr<std::byte[]> memory;
  };

  ConstView readable(const ConstView& view, bool used);
  View writable(const View& view, bool used, bool filled);
  Collective rewrite(const Collective& call, Seat seat);

  std::vector<std::unique_ptr<std::byte[]>> inputs_;
  std::vector<Pair> outputs_;
  Collective call_;
};

/// True when every view of the call is gapless already.
bool is_gapless(const Collective& call) noexcept;

}  // namespace rondo::backend
