#pragma once
/// Tests only: ranks with nothing but matching above their wires, several in a simulated world or one alone.
/// One thread plays all of them, so which frames have been read is what the test says; a wait that nobody
/// answers times out at once, in virtual time.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/problem.hpp"
#include "base/sim_scheduler.hpp"
#include "transport/match.hpp"
#include "transport/sim/world.hpp"
#include "transport/transport_fake.hpp"

namespace rondo::transport::test {

using Ints = std::vector<std::int32_t>;

/// A message of `count` numbers.
inline Envelope ints(std::size_t count, int tag) {
  Envelope envelope;
  envelope.tag = tag;
  envelope.dtype = DType::int32;
  envelope.dims.size = 1;
  envelope.dims.value[0] = static_cast<std::int64_t>(count);
  envelope.bytes = 4 * count;
  return envelope;
}

/// `count` numbers, other ones for every `salt`.
inline Ints numbers(int salt, std::size_t count) {
  Ints values(count);
  std::iota(values.begin(), values.end(), salt * 10007);
  return values;
}

inline constexpr Match::Options small{.eager_bytes = 64, .credit_bytes = 2048};
inline constexpr std::size_t big = 40;  // numbers: more than is sent eagerly under `small`

class Ranks {
 public:
  explicit Ranks(int size, Match::Options options = small, std::size_t pipe_bytes = 1 << 20) {
    world_ = std::make_shared<sim::World>(
        clock_, sim::WorldOptions{.size = size, .pipe_bytes = pipe_bytes, .arena_bytes = 0});
    for (int rank = 0; rank < size; ++rank) {
      wires_.push_back(world_->transport(rank));
      progress_.emplace_back(world_->bell(rank), 1).add(*wires_.back());
      match_.emplace_back(progress_.back(), *wires_.back(), options);
    }
  }

  Match& operator[](int rank) { return match_[static_cast<std::size_t>(rank)]; }
  Transport& wires(int rank) { return *wires_[static_cast<std::size_t>(rank)]; }
  /// `rank` reads and writes what it can, once.
  bool poll(int rank) { return wires(rank).poll(); }
  /// Until nothing moves any more.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& each : wires_) moved = each->poll() || moved;
    }
  }

  /// Sends; waiting is no part of it.
  void start(Sending& sending, int from, int to, int tag, const Ints& values) {
    (*this)[from].start(sending, to, ints(values.size(), tag), std::as_bytes(std::span(values)));
  }
  void start(Receiving& receiving, int at, int from, int tag, Ints& values) {
    (*this)[at].start(receiving, from, ints(values.size(), tag), std::as_writable_bytes(std::span(values)));
  }
  template <class Transfer>
  void wait(int rank, Transfer& transfer) {
    settle();
    base::Deadline deadline(clock_, std::chrono::seconds(1));
    (*this)[rank].wait(transfer, deadline);
  }
  /// A message that leaves at once.
  void send(int from, int to, int tag, const Ints& values) {
    Sending sending;
    start(sending, from, to, tag, values);
    wait(from, sending);
  }
  Ints receive(int at, int from, int tag, std::size_t count) {
    Receiving receiving;
    Ints values(count, -1);
    start(receiving, at, from, tag, values);
    wait(at, receiving);
    return values;
  }
  MessageInfo probe(int at, int from, int tag) {
    base::Deadline deadline(clock_, std::chrono::seconds(1));
    return (*this)[at].probe(from, tag, deadline);
  }

 private:
  base::SimScheduler clock_{1};
  std::shared_ptr<sim::World> world_;
  std::vector<std::unique_ptr<Transport>> wires_;
  std::deque<Progress> progress_;
  std::deque<Match> match_;
};

/// `call` must throw a Problem of this kind with `part` in its text.
inline void expect_problem(ErrorKind kind, const std::string& part, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing thrown; expected " << part;
  } catch (const base::Problem& problem) {
    EXPECT_EQ(problem.kind(), kind) << problem.what();
    EXPECT_NE(std::string(problem.what()).find(part), std::string::npos) << problem.what();
  }
}

inline std::vector<std::byte> bytes_of(const Ints& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

inline std::vector<FrameKind> kinds(const std::vector<FakeTransport::Posted>& posted) {
  std::vector<FrameKind> result;
  for (const auto& each : posted) result.push_back(each.header.kind);
  return result;
}

/// Rank 0 of three; what ranks 1 and 2 say is said here.
class Alone : public testing::Test {
 protected:
  explicit Alone(Match::Options options = small, Doors* doors = nullptr)
      : wires(0, 3, doors), match(progress_, wires, options) {
    progress_.add(wires);
  }

  Header header(FrameKind kind, std::uint64_t number, const Envelope& envelope = {}) {
    Header made;
    made.lane = Lane::message;
    made.kind = kind;
    made.number = number;
    made.dtype = envelope.dtype;
    made.root_or_tag = envelope.tag;
    made.dims = envelope.dims;
    made.count = envelope.bytes;
    return made;
  }
  Header message(FrameKind kind, std::uint64_t number, const Ints& values, int tag = 5) {
    Header made = header(kind, number, ints(values.size(), tag));
    made.bytes = made.count;
    return made;
  }
  /// The whole of a frame from `from`. Returns what Match said of it.
  Landing::Verdict arrive(int from, const Header& header, const std::vector<std::byte>& payload = {}) {
    const Landing landing = match.arriving(from, header);
    if (landing.verdict == Landing::Verdict::take) {
      EXPECT_EQ(landing.memory.size(), header.bytes);
      if (!payload.empty()) std::memcpy(landing.memory.data(), payload.data(), payload.size());
    }
    match.arrived(from, header);
    return landing.verdict;
  }
  Landing::Verdict arrive(int from, FrameKind kind, std::uint64_t number, const Ints& values, int tag = 5) {
    return arrive(from, message(kind, number, values, tag), bytes_of(values));
  }
  void offer(int from, std::uint64_t id, std::size_t count, int tag = 5) {
    EXPECT_EQ(arrive(from, header(FrameKind::offer, id, ints(count, tag))), Landing::Verdict::drain);
  }
  void start(Sending& sending, const Ints& values, int tag = 5) {
    match.start(sending, 1, ints(values.size(), tag), std::as_bytes(std::span(values)));
  }
  void start(Receiving& receiving, Ints& values, int from = 1, int tag = 5) {
    match.start(receiving, from, ints(values.size(), tag), std::as_writable_bytes(std::span(values)));
  }
  template <class Transfer>
  void wait(Transfer& transfer) {
    base::Deadline deadline(clock_, std::chrono::seconds(1));
    match.wait(transfer, deadline);
  }
  std::vector<FrameKind> posted() { return kinds(wires.take()); }
  void expect_broken(const std::string& how) {
    ASSERT_TRUE(wires.failed()) << how;
    EXPECT_EQ(wires.failure()->kind, ErrorKind::disconnected);
    EXPECT_EQ(wires.failure()->rank, 1);
    EXPECT_EQ(wires.failure()->text, "rank 1 broke the protocol: " + how);
  }

 private:
  base::SimScheduler clock_{1};
  base::Event bell_{clock_};
  Progress progress_{bell_, 1};

 public:
  FakeTransport wires;
  Match match;
};

}  // namespace rondo::transport::test
