#pragma once
/// What goes wrong below the backends: a kind, a peer and a cause. backend/ adds the verb, the rank and the
/// group and makes a rondo::Error of it.

#include <stdexcept>
#include <string>

#include "rondo/error.hpp"

namespace rondo::base {

class Problem : public std::runtime_error {
 public:
  Problem(ErrorKind kind, int peer, const std::string& text)
      : std::runtime_error(text), kind_(kind), peer_(peer) {}

  ErrorKind kind() const noexcept { return kind_; }
  /// The rank it is about, or -1.
  int peer() const noexcept { return peer_; }

 private:
  ErrorKind kind_;
  int peer_;
};

}  // namespace rondo::base
