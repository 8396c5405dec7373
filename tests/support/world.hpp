#pragma once
/// Worlds: the ways to run one function on every rank. Conformance tests run in all of them; a new transport
/// is one more entry of worlds().

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/rondo.hpp"

namespace rondo::test {

using RankMain = std::function<void(Group)>;

/// Runs `rank_main` once per rank of a sim_group, each on a thread of its own. A rank that throws ends the
/// group, so that the others do not wait for it. Rethrows what was thrown first.
void run_threads(int size, const RankMain& rank_main, const Config& config = {});

/// The same over sim_run: one rank at a time, in an order drawn from `seed`, in virtual time.
void run_sim(int size, std::uint64_t seed, const RankMain& rank_main, const Config& config = {});

/// The same with a process for every rank, which meet over the loopback. What a rank changes is seen by
/// itself alone; its failures are the test's.
void run_processes(int size, const RankMain& rank_main, const Config& config = {});

/// One way of running ranks.
struct World {
  enum class Ranks : std::uint8_t {
    simulated,  ///< sim_run
    threads,    ///< of this process, over sim_group, shm or tcp
    processes   ///< over shm or tcp
  };
  std::string name;
  Ranks ranks = Ranks::simulated;
  Config config;

  void run(int size, const RankMain& rank_main, std::uint64_t seed = 1) const;
  World with(const std::function<void(Config&)>& change) const;
};

/// Every transport under test.
const std::vector<World>& worlds();
std::ostream& operator<<(std::ostream& out, const World& world);

/// Group sizes under test, up to RONDO_TEST_MAX_SIZE.
const std::vector<int>& sizes();

/// The arguments as text with blanks between: for SCOPED_TRACE.
template <class... Parts>
std::string label(const Parts&... parts) {
  std::ostringstream out;
  ((out << parts << ' '), ...);
  return out.str();
}

/// The Error that `call` throws, if it throws one.
std::optional<Error> error_of(const std::function<void()>& call);

/// `call` must throw an Error of this kind whose text has all of `parts` in it.
void expect_error(ErrorKind kind, std::initializer_list<std::string_view> parts,
                  const std::function<void()>& call);

/// What an Error must be: for errors in hand.
void expect_is(const std::optional<Error>& error, ErrorKind kind,
               std::initializer_list<std::string_view> parts = {});

}  // namespace rondo::test
