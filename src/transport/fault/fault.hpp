#pragma once
/// A transport over any other that loses, delays, cuts, corrupts or repeats chosen frames. For tests: with no
/// rules it is the transport below, but for the arena, which it hides so that everything travels in frames.

#include <deque>
#include <memory>
#include <vector>

#include "base/scheduler.hpp"
#include "transport/transport.hpp"

namespace rondo::transport::fault {

enum class Action : std::uint8_t {
  drop,             ///< the frame is not sent, and its sender thinks it was
  delay,            ///< the frame and what follows it to that rank on that lane wait
  cut,              ///< the wires to that rank are closed instead
  corrupt_header,   ///< one bit of the header is turned
  corrupt_payload,  ///< one bit of the payload is turned (nothing happens to a frame without payload)
  duplicate,        ///< the frame is sent twice
};
std::string_view to_string(Action action) noexcept;

struct Rule {
  Action action = Action::drop;
  std::uint64_t frame = 0;  ///< counts from 0 over all frames that this rank posts, in all its groups
  base::Duration delay{};   ///< for Action::delay
  std::size_t bit = 0;      ///< which bit to turn, modulo the length
};

/// Rules of one rank, and how many frames it has posted; shared by its groups.
struct Plan {
  std::vector<Rule> rules;
  std::uint64_t frames = 0;
};

/// `plan` must outlive the transport's use only through the shared pointer; it is read with the progress lock
/// held.
std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, std::shared_ptr<Plan> plan,
                                       base::Scheduler& scheduler);

}  // namespace rondo::transport::fault
