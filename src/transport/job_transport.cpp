#include "transport/job_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/problem.hpp"

namespace rondo::transport {

namespace {

// How long the end of a wire waits for the watcher to tell why: the first cause travels beside the wires. So
// does the word of a rank that left before it had looked at its new message wire, and nothing else tells of
// that.
base::Duration patience(Lane lane) {
  return lane == Lane::message ? std::chrono::seconds(1) : std::chrono::milliseconds(200);
}

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

std::unique_ptr<Transport> JobTransport::part(const GroupId& id, std::span<const int> ranks,
                                              const Make& make) {
  base::Deadline deadline(base::real_scheduler(), job_->config().timeout);
  std::vector<int> chosen = members_of(ranks);
  try {
    return make(chosen, deadline, [this] {
      if (failed()) throw base::Problem(ErrorKind::aborted, -1, "the group that it is part of has ended");
    });
  } catch (const base::Problem& problem) {
    const int culprit = place_in(members_, problem.peer());
    const bool about_peer = problem.kind() == ErrorKind::disconnected && culprit < size();
    fail(Failure{problem.kind(), about_peer ? culprit : rank(),
                 fmt::format("a part of the group could not be made: {}", problem.what())});
    const Failure first = *failure();
    Failure of_part = first;
    const auto place = std::ranges::find(ranks, first.rank);
    of_part.rank = place == ranks.end() ? -1 : static_cast<int>(place - ranks.begin());
    std::erase(chosen, job_->rank());
    job_->watcher().announce(hash_of(id), chosen, of_part);
    throw base::Problem(first.kind, first.rank, first.text);
  }
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
  job_->watcher().wake_waiting();  // for the wires of a part
  return true;
}

void JobTransport::fail(const Failure& cause) {
  // Another's cause may have come while neither this thread nor the watcher's has run.
  if (!failed()) job_->watcher().catch_up();
  if (!failed() && !is_first_to_fail()) await_first_cause();
  if (!keep(cause)) return;
  std::vector<int> others(members_);
  std::erase(others, job_->rank());
  job_->watcher().announce(group_, others, cause);
}

// Bounded: whoever was first may have died before it could tell.
void JobTransport::await_first_cause() {
  base::Deadline deadline(base::real_scheduler(), patience(Lane::collective));
  do {
    const std::uint32_t ticket = bell_.ticket();
    if (failed()) return;
    bell_.wait(ticket, deadline.end());
  } while (!deadline.expired());
}

std::optional<Failure> JobTransport::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

bool JobTransport::poll() {
  News news;
  if (any_news_.load(std::memory_order_seq_cst)) news = take_news();
  act_on(news);
  const bool moved = FramedTransport::poll() || !news.left.empty();
  if (failed()) return moved;
  mourn(news);
  suspect();
  return moved || failed();
}

base::TimePoint JobTransport::next_turn() const {
  base::TimePoint next = base::never;
  if (failed()) return next;
  for (const Suspicion& each : suspicions_) next = std::min(next, each.until);
  return next;
}

// A wire has ended. Who ended the group tells so beside the wires, and the death of a process is seen there:
// a moment for that.
void JobTransport::broken(Lane lane, const Failure& cause) {
  suspicions_.push_back({lane, cause, base::real_scheduler().now() + patience(lane)});
}

void JobTransport::suspect() {
  std::erase_if(suspicions_,
                [this](const Suspicion& each) { return has_departed(each.cause.rank, each.lane); });
  for (const Suspicion& each : suspicions_) {
    if (base::real_scheduler().now() >= each.until) fail(each.cause);
  }
}

void JobTransport::want(int peer, Lane) {
  job_->watcher().want_wire(group_, members_[static_cast<std::size_t>(peer)]);
}

void JobTransport::leave_unmade(int peer, Lane) {
  job_->watcher().tell_left(group_, members_[static_cast<std::size_t>(peer)]);
}

// --- told by the watcher, on its thread ------------------------------------------------------------------

template <class Note>
void JobTransport::note(int peer, const Note& write) {
  const int member = place_in(members_, peer);
  if (member == size() || member == rank()) return;
  {
    std::lock_guard lock(mutex_);
    write(news_, member);
    any_news_.store(true, std::memory_order_seq_cst);
  }
  bell_.ring();
}

void JobTransport::lost(int peer, const std::string& why) {
  if (peer == control::no_rank) {
    keep(Failure{ErrorKind::aborted, -1, "the launcher is gone"});
    return;
  }
  note(peer, [&](News& news, int member) { news.lost.emplace_back(member, why); });
}

void JobTransport::connected(int peer, net::SocketStream stream) {
  note(peer, [&](News& news, int member) { news.connected.emplace_back(member, std::move(stream)); });
}

void JobTransport::unconnected(int peer, const std::string& why) {
  note(peer, [&](News& news, int member) { news.unconnected.emplace_back(member, why); });
}

void JobTransport::left(int peer) {
  note(peer, [&](News& news, int member) { news.left.push_back(member); });
}

// --- and what comes of it --------------------------------------------------------------------------------

JobTransport::News JobTransport::take_news() {
  std::lock_guard lock(mutex_);
  any_news_.store(false, std::memory_order_relaxed);
  return std::exchange(news_, {});
}

void JobTransport::act_on(News& news) {
  for (auto& [member, stream] : news.connected) {
    made(member, Lane::message, std::make_unique<net::SocketStream>(std::move(stream)));
  }
  for (const int member : news.left) left_unmade(member, Lane::message);
  for (const auto& [member, why] : news.unconnected) not_made(member, Lane::message, why);
}

// Whoever had said goodbye to this group before its process ended is not missed. All that it sent has been
// read by now, as far as it had come.
void JobTransport::mourn(const News& news) {
  for (const auto& [member, why] : news.lost) {
    if (has_departed(member)) continue;
    fail(Failure{ErrorKind::disconnected, member, fmt::format("rank {} is gone: {}", member, why)});
    return;
  }
}

}  // namespace rondo::transport
