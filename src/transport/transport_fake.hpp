#pragma once
/// Tests only: wires that lead nowhere. What is posted is recorded; what "arrives" the test hands to the
/// receiver itself.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "transport/transport.hpp"

namespace rondo::transport {

class FakeTransport final : public Transport {
 public:
  struct Posted {
    int to;
    Header header;
    std::vector<std::byte> payload;
  };

  FakeTransport(int rank, int size, Doors* doors = nullptr) : rank_(rank), size_(size), doors_(doors) {}
  ~FakeTransport() override {
    for (Outgoing* each : held_) {
      if (each->owned) delete_owned(each);
    }
  }

  /// What has been posted since the last look, held frames apart.
  std::vector<Posted> take() { return std::exchange(posted_, {}); }
  /// From now on frames stay queued: as if the peers read nothing.
  void hold() { holding_ = true; }
  /// What is held leaves, and what comes after leaves at once.
  void let_go() {
    holding_ = false;
    for (Outgoing* each : std::exchange(held_, {})) leave(*each);
  }
  /// The first byte of the first held frame leaves.
  void begin() {
    if (!held_.empty()) held_.front()->state = Outgoing::State::moving;
  }
  /// The frame that is landing from `peer` has lost its memory since the last look.
  bool drained(int peer) { return std::erase(drained_, peer) > 0; }

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  Backend kind() const noexcept override { return Backend::sim; }
  void attach(Lane, Receiver& receiver) override { receiver_ = &receiver; }
  Doors* doors() noexcept override { return doors_; }

  void post(Outgoing& frame) override {
    RONDO_INVARIANT(std::find(held_.begin(), held_.end(), &frame) == held_.end());  // never posted twice
    frame.state = Outgoing::State::queued;
    if (holding_) {
      held_.push_back(&frame);
    } else {
      leave(frame);
    }
  }

  bool cancel(Outgoing& frame) override {
    const auto at = std::find(held_.begin(), held_.end(), &frame);
    if (at == held_.end()) return false;
    const bool begun = frame.state == Outgoing::State::moving;
    if (begun) {
      *at = make_owned(frame.peer, frame.lane, std::span<const std::byte>(frame.head).first(frame.head_bytes),
                       frame.payload);
      (*at)->state = Outgoing::State::moving;
    } else {
      held_.erase(at);
    }
    frame.state = Outgoing::State::failed;
    return !begun;
  }

  void drain(int peer, Lane) override { drained_.push_back(peer); }
  bool poll() override { return receiver_ != nullptr && receiver_->move(); }
  bool poll(int, Lane) override { return false; }
  bool flushed() const override { return held_.empty(); }
  void cut(int) override {}
  void fail(const Failure& cause) override {
    if (!failure_) failure_ = cause;
  }
  bool failed() const noexcept override { return failure_.has_value(); }
  std::optional<Failure> failure() const override { return failure_; }
  std::unique_ptr<Transport> sub(const GroupId&, std::span<const int>) override { return nullptr; }

 private:
  void leave(Outgoing& frame) {
    posted_.push_back({frame.peer, decode(std::span<const std::byte>(frame.head).first(frame.head_bytes)),
                       std::vector<std::byte>(frame.payload.begin(), frame.payload.end())});
    frame.state = Outgoing::State::done;
    if (frame.owned) delete_owned(&frame);
  }

  int rank_;
  int size_;
  Doors* doors_;
  Receiver* receiver_ = nullptr;  // the last one attached
  bool holding_ = false;
  std::vector<int> drained_;
  std::vector<Outgoing*> held_;
  std::vector<Posted> posted_;
  std::optional<Failure> failure_;
};

}  // namespace rondo::transport
