#pragma once
/// One absolute limit for a whole call.

#include "base/scheduler.hpp"

namespace rondo::base {

/// Starts when it is first looked at (the first fruitless turn of a wait), so that a call that never waits
/// never reads the clock; the time lost before that is a few microseconds.
class Deadline {
 public:
  Deadline(Scheduler& scheduler, Duration limit) noexcept : scheduler_(&scheduler), limit_(limit) {}

  Duration limit() const noexcept { return limit_; }
  /// The moment the limit runs out. Starts the clock.
  TimePoint end() {
    start();
    return end_;
  }
  bool expired() {
    start();
    return scheduler_->now() >= end_;
  }
  /// Time since the start; zero before it.
  Duration elapsed() const { return started_ ? scheduler_->now() - begin_ : Duration::zero(); }

 private:
  void start() {
    if (started_) return;
    started_ = true;
    begin_ = scheduler_->now();
    end_ = limit_ >= never - begin_ ? never : begin_ + limit_;
  }

  Scheduler* scheduler_;
  Duration limit_;
  bool started_ = false;
  TimePoint begin_{};
  TimePoint end_{};
};

}  // namespace rondo::base
