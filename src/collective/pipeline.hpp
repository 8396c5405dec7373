#pragma once
/// The one double-buffer loop: chunks go out and come in over links, and what came in is used while the next
/// chunk of every link travels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/channel.hpp"

namespace rondo::collective {

/// What a rank sends to one rank and receives from one rank (often another), in chunks.
struct Link {
  int to = -1;
  std::size_t sends = 0;
  int from = -1;
  std::size_t receives = 0;
};

/// When send i goes out.
enum class Sends : std::uint8_t {
  early,  ///< while chunk i - 1 is awaited: sends do not depend on what is received
  level,  ///< before chunk i is awaited: depends on chunks up to i - 1
  late,   ///< after chunk i was used: depends on it
};

struct Flow {
  std::span<const Link> links;
  Sends sends = Sends::level;
  /// Send i is waited for before chunk i is used, because using it overwrites what was sent.
  bool settle = false;
};

/// Runs a flow. `source(link, i)` gives the bytes of send i, `target(link, i)` the memory of receive i;
/// `use(i)` is called once receive i of every link that has one has landed. In order:
/// - use(i) comes before use(i + 1);
/// - target(link, i) is asked for after use(i - 2), so two buffers per link are enough to receive into;
/// - what send i (level) reads must stay until use(i + 2), or until target(link, i + 3) is asked for; what
///   send i (late) reads, until use(i + 3);
/// - when the call returns, nothing is under way.
///
/// At most two sends and two receives are posted per link. It cannot lock up: a rank in round i has posted
/// its receives up to i + 1 and waits for no send after i - 1 (settle: i) before it posts send i, so the rank
/// that is furthest behind never waits for what its peers have not posted. Memory that source and target name
/// must outlive the call also when it throws; declare it before.
template <class Source, class Target, class Use>
void pipeline(transport::Channel& channel, const Flow& flow, const Source& source, const Target& target,
              const Use& use) {
  const std::size_t links = flow.links.size();
  std::size_t sends = 0;
  std::size_t receives = 0;
  for (const Link& link : flow.links) {
    sends = std::max(sends, link.sends);
    receives = std::max(receives, link.receives);
  }
  const auto going = std::make_unique<transport::Pending[]>(2 * links);
  const auto coming = std::make_unique<transport::Pending[]>(2 * links);

  const auto post_sends = [&](std::size_t i) {
    for (std::size_t l = 0; l < links; ++l) {
      transport::Pending& pending = going[2 * l + i % 2];
      channel.wait(pending);  // of send i - 2, also where there is no send i: its memory may be wanted
      if (i < flow.links[l].sends) channel.send(pending, flow.links[l].to, source(l, i));
    }
  };
  const auto post_receives = [&](std::size_t i) {
    for (std::size_t l = 0; l < links; ++l) {
      if (i < flow.links[l].receives) channel.recv(coming[2 * l + i % 2], flow.links[l].from, target(l, i));
    }
  };

  post_receives(0);
  if (flow.sends == Sends::early) post_sends(0);
  const std::size_t rounds = std::max(sends + (flow.sends == Sends::late ? 1 : 0), receives);
  for (std::size_t i = 0; i < rounds; ++i) {
    switch (flow.sends) {
      case Sends::early:
        post_sends(i + 1);
        break;
      case Sends::level:
        post_sends(i);
        break;
      case Sends::late:
        if (i > 0) post_sends(i - 1);
        break;
    }
    post_receives(i + 1);
    for (std::size_t l = 0; l < links; ++l) channel.wait(coming[2 * l + i % 2]);
    if (flow.settle) {
      for (std::size_t l = 0; l < links; ++l) channel.wait(going[2 * l + i % 2]);
    }
    if (i < receives) use(i);
  }
  for (std::size_t l = 0; l < 2 * links; ++l) channel.wait(going[l]);
}

}  // namespace rondo::collective
