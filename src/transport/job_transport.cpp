#include "transport/job_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rondo::transport {

namespace {

// How long the end of a wire waits for the watcher to tell why: the first cause travels beside the wires.
constexpr base::Duration patience = std::chrono::milliseconds(200);

}  // namespace

int place_in(const std::vector<int>& members, int self) noexcept {
  return static_cast<int>(std::find(members.begin(), members.end(), self) - members.begin());
}

JobTransport::JobTransport(std::shared_ptr<Job> job, base::Event& bell, std::uint64_t group,
                           std::vector<int> members, Streams streams)
    : FramedTransport(place_in(members, job->rank()), std::move(streams)),
      job_(std::move(job)),
      bell_(bell),
      group_(group),
      members_(std::move(members)) {}

void JobTransport::leave() noexcept {
  job_->watcher().withdraw(group_);
  close();
}

std::vector<int> JobTransport::members_of(std::span<const int> ranks) const {
  std::vector<int> chosen;
  for (const int each : ranks) chosen.push_back(members_[static_cast<std::size_t>(each)]);
  return chosen;
}

int JobTransport::local_rank() const noexcept {
  return static_cast<int>(std::count_if(members_.begin(), members_.begin() + rank(),
                                        [&](int member) { return job_->is_here(member); }));
}

int JobTransport::local_size() const noexcept {
  return static_cast<int>(
      std::count_if(members_.begin(), members_.end(), [&](int member) { return job_->is_here(member); }));
}

bool JobTransport::keep(const Failure& cause) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return false;
    failure_ = cause;
    failed_.store(true, std::memory_order_seq_cst);
  }
  bell_.ring();
  return true;
}

void JobTransport::fail(const Failure& cause) {
  if (!keep(cause)) return;
  std::vector<int> others(members_);
  std::erase(others, job_->rank());
  job_->watcher().announce(group_, others, cause);
}

std::optional<Failure> JobTransport::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

bool JobTransport::poll() {
  const bool moved = FramedTransport::poll();
  if (failed()) return moved;
  if (anybody_lost_.load(std::memory_order_seq_cst)) mourn();
  if (suspicion_ && base::real_scheduler().now() >= suspected_until_) fail(*suspicion_);
  return moved || failed();
}

base::TimePoint JobTransport::next_turn() const {
  return suspicion_ && !failed() ? suspected_until_ : base::never;
}

// A wire has ended. Who ended the group tells so beside the wires, and the death of a process is seen there:
// a moment for that.
void JobTransport::broken(const Failure& cause) {
  if (suspicion_) return;
  suspicion_ = cause;
  suspected_until_ = base::real_scheduler().now() + patience;
}

void JobTransport::lost(int peer, const std::string& why) {
  if (peer == control::no_rank) {
    keep(Failure{ErrorKind::aborted, -1, "the launcher is gone"});
    return;
  }
  const int member = place_in(members_, peer);
  if (member == size()) return;
  {
    std::lock_guard lock(mutex_);
    lost_.emplace_back(member, why);
    anybody_lost_.store(true, std::memory_order_seq_cst);
  }
  bell_.ring();
}

// Whoever had said goodbye to this group before its process ended is not missed. All that it sent has been
// read by now, as far as it had come.
void JobTransport::mourn() {
  std::vector<std::pair<int, std::string>> gone;
  {
    std::lock_guard lock(mutex_);
    gone.swap(lost_);
    anybody_lost_.store(false, std::memory_order_relaxed);
  }
  for (const auto& [member, why] : gone) {
    if (has_departed(member)) continue;
    fail(Failure{ErrorKind::disconnected, member, fmt::format("rank {} is gone: {}", member, why)});
    return;
  }
}

}  // namespace rondo::transport
