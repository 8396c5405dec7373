#pragma once
/// What tests of sockets share.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/problem.hpp"
#include "net/socket.hpp"

namespace rondo::net::testing_support {

/// "unavailable: the text" of the Problem that `work` throws; otherwise a failure.
template <class Work>
std::string problem_of(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const base::Problem& problem) {
    return std::string(to_string(problem.kind())) + ": " + problem.what();
  }
  ADD_FAILURE() << "no problem came";
  return {};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline Address address_of(const std::string& text) { return resolve(parse_host_port(text)).at(0); }

inline base::Deadline within(base::Duration limit) { return {base::real_scheduler(), limit}; }
/// Longer than anything takes that goes well.
inline base::Deadline ample() { return within(std::chrono::seconds(60)); }

/// False on machines without IPv6.
inline bool has_v6() {
  try {
    const Listener listener(address_of("[::1]:0"));
    return true;
  } catch (const base::Problem&) {
    return false;
  }
}

/// Both ends of a connection over a listener on `where`.
struct Pair {
  explicit Pair(const std::string& where = "127.0.0.1:0") {
    Listener listener(address_of(where));
    base::Deadline limit = ample();
    near = connect(listener.bound(), limit);
    EXPECT_TRUE(wait_ready(listener.fd(), Ready::read, limit));
    far = listener.accept();
    EXPECT_TRUE(far);
  }
  base::Fd near;
  base::Fd far;
};

/// `count` bytes that differ from place to place and from seed to seed.
inline std::vector<std::byte> pattern(std::size_t count, std::size_t seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8) * 7 + seed * 29 + 5) & 0xff);
  return bytes;
}

}  // namespace rondo::net::testing_support
