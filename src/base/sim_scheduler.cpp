#include "base/sim_scheduler.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace rondo::base {

struct SimScheduler::Thread {
  enum class State : std::uint8_t { runnable, parked, ended };
  const SimScheduler* home = nullptr;
  State state = State::runnable;
  const Event* event = nullptr;  // parked on; nullptr: only on time
  TimePoint until = never;
  bool rung = false;
  std::condition_variable turn;
  std::thread thread;
};

namespace {
// The simulated thread that this system thread is, if any.
thread_local void* this_thread = nullptr;
}  // namespace

SimScheduler::SimScheduler(std::uint64_t seed) : random_(seed) {}
SimScheduler::~SimScheduler() = default;

std::uint64_t SimScheduler::draw_locked(std::uint64_t bound) {
  return random_() % bound;  // bounds are tiny: the bias does not matter, equality between libraries does
}

std::uint64_t SimScheduler::draw(std::uint64_t bound) {
  std::lock_guard lock(mutex_);
  return draw_locked(bound);
}

void SimScheduler::run(std::vector<std::function<void()>> mains) {
  std::unique_lock lock(mutex_);
  RONDO_INVARIANT(threads_.empty() && !mains.empty());
  for (std::size_t i = 0; i < mains.size(); ++i) {
    threads_.push_back(std::make_unique<Thread>());
    threads_.back()->home = this;
  }
  alive_ = mains.size();
  for (std::size_t i = 0; i < mains.size(); ++i) {
    Thread& self = *threads_[i];
    self.thread = std::thread([this, &self, body = std::move(mains[i])] {
      this_thread = &self;
      {
        std::unique_lock start(mutex_);
        self.turn.wait(start, [&] { return current_ == &self; });
      }
      body();
      std::unique_lock end(mutex_);
      self.state = Thread::State::ended;
      if (--alive_ == 0) {
        current_ = nullptr;
        ended_.notify_all();
      } else {
        hand_over();
      }
    });
  }
  hand_over();
  ended_.wait(lock, [&] { return alive_ == 0; });
  lock.unlock();
  for (auto& thread : threads_) thread->thread.join();
  threads_.clear();
}

// Draws the next thread and wakes it; lets time jump when all are parked.
void SimScheduler::hand_over() {
  std::vector<Thread*> ready;
  for (;;) {
    for (const auto& thread : threads_) {
      if (thread->state == Thread::State::runnable) ready.push_back(thread.get());
    }
    if (!ready.empty()) break;
    TimePoint nearest = never;
    for (const auto& thread : threads_) {
      if (thread->state == Thread::State::parked) nearest = std::min(nearest, thread->until);
    }
    time_ = std::max(time_, nearest);
    for (const auto& thread : threads_) {
      if (thread->state == Thread::State::parked && thread->until <= time_) {
        thread->state = Thread::State::runnable;
      }
    }
  }
  current_ = ready[ready.size() == 1 ? 0 : draw_locked(ready.size())];
  current_->turn.notify_one();
}

void SimScheduler::give_way(std::unique_lock<std::mutex>& lock, Thread& self) {
  hand_over();
  self.turn.wait(lock, [&] { return current_ == &self; });
}

TimePoint SimScheduler::now() {
  std::lock_guard lock(mutex_);
  return time_;
}

void SimScheduler::yield() {
  auto* self = static_cast<Thread*>(this_thread);
  if (self == nullptr || self->home != this) return;
  std::unique_lock lock(mutex_);
  give_way(lock, *self);
}

void SimScheduler::sleep_until(TimePoint until) {
  auto* self = static_cast<Thread*>(this_thread);
  std::unique_lock lock(mutex_);
  if (self == nullptr || self->home != this) {
    time_ = std::max(time_, until);
    return;
  }
  self->state = Thread::State::parked;
  self->event = nullptr;
  self->until = until;
  give_way(lock, *self);
}

bool SimScheduler::park(Event& event, std::uint32_t ticket, TimePoint until) {
  auto* self = static_cast<Thread*>(this_thread);
  std::unique_lock lock(mutex_);
  if (event.bell_.epoch.load(std::memory_order_relaxed) != ticket) return true;
  if (self == nullptr || self->home != this) {
    time_ = std::max(time_, until);
    return false;
  }
  event.bell_.sleepers.fetch_add(1, std::memory_order_relaxed);
  self->state = Thread::State::parked;
  self->event = &event;
  self->until = until;
  self->rung = false;
  give_way(lock, *self);
  event.bell_.sleepers.fetch_sub(1, std::memory_order_relaxed);
  return self->rung;
}

void SimScheduler::unpark(Event& event) {
  std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) {
    if (thread->state == Thread::State::parked && thread->event == &event) {
      thread->state = Thread::State::runnable;
      thread->rung = true;
    }
  }
}

}  // namespace rondo::base
