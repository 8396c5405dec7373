#pragma once
/// Bootstrapping: one verb.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"

namespace rondo::rendezvous {

using Blob = std::string;  ///< bytes

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  /// Everybody brings a blob and gets all of them, by rank. May be called again; all ranks call equally
  /// often. Throws Problem (timed_out): "2 of 3 joined, missing rank 2"; Problem(unavailable) when refused,
  /// with the other side's words.
  virtual std::vector<Blob> exchange(const Blob& mine, base::Deadline& deadline) = 0;
};

}  // namespace rondo::rendezvous
