#include "transport/fault/fault.hpp"

#include <algorithm>
#include <cstring>

namespace rondo::transport::fault {

std::string_view to_string(Action action) noexcept {
  switch (action) {
    case Action::drop:
      return "drop";
    case Action::delay:
      return "delay";
    case Action::cut:
      return "cut";
    case Action::corrupt_header:
      return "corrupt_header";
    case Action::corrupt_payload:
      return "corrupt_payload";
    case Action::duplicate:
      return "duplicate";
  }
  return "?";
}

namespace {

Outgoing* copy_of(const Outgoing& frame) {
  return make_owned(frame.peer, frame.lane, std::span<const std::byte>(frame.head).first(frame.head_bytes),
                    frame.payload);
}

void settle(Outgoing& frame, Outgoing::State state) {
  frame.state = state;
  if (frame.owned) delete_owned(&frame);
}

void turn_bit(std::span<std::byte> bytes, std::size_t bit) {
  const std::size_t at = bit % (bytes.size() * 8);
  bytes[at / 8] ^= static_cast<std::byte>(1U << (at % 8));
}

class FaultyTransport final : public Transport {
 public:
  FaultyTransport(std::unique_ptr<Transport> inner, std::shared_ptr<Plan> plan, base::Scheduler& scheduler)
      : inner_(std::move(inner)), plan_(std::move(plan)), scheduler_(scheduler) {}
  ~FaultyTransport() override {
    for (const Held& each : held_) delete_owned(each.frame);
  }

  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  Backend kind() const noexcept override { return inner_->kind(); }
  void attach(Lane lane, Receiver& receiver) override { inner_->attach(lane, receiver); }

  void post(Outgoing& frame) override {
    const std::uint64_t number = plan_->frames++;
    for (const Rule& rule : plan_->rules) {
      if (rule.frame == number) {
        apply(rule, frame);
        return;
      }
    }
    pass(frame);
  }

  bool cancel(Outgoing& frame) override { return inner_->cancel(frame); }
  void drain(int peer, Lane lane) override { inner_->drain(peer, lane); }

  bool poll() override {
    const bool released = release();
    return inner_->poll() || released;
  }
  bool poll(int peer, Lane lane) override {
    const bool released = release();
    return inner_->poll(peer, lane) || released;
  }
  base::TimePoint next_turn() const override {
    return held_.empty() ? inner_->next_turn() : std::min(held_.front().due, inner_->next_turn());
  }
  void append_polled(std::vector<pollfd>& polled) const override { inner_->append_polled(polled); }
  bool flushed() const override { return held_.empty() && inner_->flushed(); }
  void cut(int peer) override { inner_->cut(peer); }
  void fail(const Failure& cause) override { inner_->fail(cause); }
  bool failed() const noexcept override { return inner_->failed(); }
  std::optional<Failure> failure() const override { return inner_->failure(); }

  std::unique_ptr<Transport> sub(const GroupId& id, std::span<const int> members) override {
    return make_faulty(inner_->sub(id, members), plan_, scheduler_);
  }

 private:
  struct Held {
    Outgoing* frame;  // owned
    base::TimePoint due;
  };

  bool waits_behind(const Outgoing& frame) const {
    return std::any_of(held_.begin(), held_.end(), [&](const Held& each) {
      return each.frame->peer == frame.peer && each.frame->lane == frame.lane;
    });
  }

  // On its way, or behind what is held for the same rank and lane.
  void pass(Outgoing& frame) {
    if (waits_behind(frame)) {
      hold(frame, base::Duration::zero());
    } else {
      inner_->post(frame);
    }
  }

  void hold(Outgoing& frame, base::Duration delay) {
    base::TimePoint due = scheduler_.now() + delay;
    if (!held_.empty()) due = std::max(due, held_.back().due);
    held_.push_back({copy_of(frame), due});
    settle(frame, Outgoing::State::done);
  }

  bool release() {
    bool any = false;
    while (!held_.empty() && held_.front().due <= scheduler_.now()) {
      Outgoing* frame = held_.front().frame;
      held_.pop_front();
      inner_->post(*frame);
      any = true;
    }
    return any;
  }

  void apply(const Rule& rule, Outgoing& frame) {
    switch (rule.action) {
      case Action::drop:
        settle(frame, Outgoing::State::done);
        return;
      case Action::delay:
        hold(frame, rule.delay);
        return;
      case Action::cut: {
        const int peer = frame.peer;
        settle(frame, Outgoing::State::failed);
        inner_->cut(peer);
        return;
      }
      case Action::duplicate:
        pass(*copy_of(frame));
        pass(frame);
        return;
      case Action::corrupt_header: {
        Outgoing* copy = copy_of(frame);
        turn_bit(std::span(copy->head).first(copy->head_bytes), rule.bit);
        settle(frame, Outgoing::State::done);
        pass(*copy);
        return;
      }
      case Action::corrupt_payload: {
        if (frame.payload.empty()) {
          pass(frame);
          return;
        }
        std::vector<std::byte> payload(frame.payload.begin(), frame.payload.end());
        turn_bit(payload, rule.bit);
        Outgoing* copy = make_owned(frame.peer, frame.lane,
                                    std::span<const std::byte>(frame.head).first(frame.head_bytes), payload);
        settle(frame, Outgoing::State::done);
        pass(*copy);
        return;
      }
    }
  }

  std::unique_ptr<Transport> inner_;
  std::shared_ptr<Plan> plan_;
  base::Scheduler& scheduler_;
  std::deque<Held> held_;  // in order of release
};

}  // namespace

std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, std::shared_ptr<Plan> plan,
                                       base::Scheduler& scheduler) {
  return std::make_unique<FaultyTransport>(std::move(inner), std::move(plan), scheduler);
}

}  // namespace rondo::transport::fault
