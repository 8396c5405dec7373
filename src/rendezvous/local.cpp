#include "rendezvous/local.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include "base/problem.hpp"
#include "rendezvous/roll.hpp"

namespace rondo::rendezvous {

namespace {

using base::Problem;

/// Where the threads meet.
class Place {
 public:
  Place(std::size_t size, base::Scheduler& scheduler)
      : bell_(scheduler), round_(std::make_shared<Round>(size)) {}

  std::vector<Blob> exchange(std::size_t rank, const Blob& mine, base::Deadline& deadline) {
    const std::shared_ptr<Round> round = lay_down(rank, mine);
    for (;;) {
      const std::uint32_t ticket = bell_.ticket();
      if (round_is_over(*round)) return round->blobs;
      if (!bell_.wait(ticket, deadline.end())) fail(*round);
    }
  }

 private:
  struct Round {
    explicit Round(std::size_t size) : blobs(size), joined(size, false) {}
    std::vector<Blob> blobs;  // not touched once the round is over
    std::vector<bool> joined;
    bool over = false;
  };

  std::shared_ptr<Round> lay_down(std::size_t rank, const Blob& mine) {
    const std::lock_guard lock(mutex_);
    if (round_->over) round_ = std::make_shared<Round>(round_->joined.size());
    const std::shared_ptr<Round> round = round_;
    round->blobs[rank] = mine;
    round->joined[rank] = true;
    round->over = !failure_ && missing_in(round->joined).empty();
    if (round->over) bell_.ring();
    return round;
  }

  bool round_is_over(const Round& round) {
    const std::lock_guard lock(mutex_);
    if (!round.over && failure_) throw Problem(*failure_);
    return round.over;
  }

  void fail(const Round& round) {
    const std::lock_guard lock(mutex_);
    if (round.over || failure_) return;
    failure_ = Problem(ErrorKind::timed_out, missing_in(round.joined).front(), roll_text(round.joined));
    bell_.ring();
  }

  base::Event bell_;
  std::mutex mutex_;
  std::shared_ptr<Round> round_;
  std::optional<Problem> failure_;
};

class Local final : public Rendezvous {
 public:
  Local(std::shared_ptr<Place> place, std::size_t rank) : place_(std::move(place)), rank_(rank) {}
  std::vector<Blob> exchange(const Blob& mine, base::Deadline& deadline) override {
    return place_->exchange(rank_, mine, deadline);
  }

 private:
  std::shared_ptr<Place> place_;
  std::size_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Rendezvous>> make_local(int size, base::Scheduler& scheduler) {
  const auto count = static_cast<std::size_t>(size);
  const auto place = std::make_shared<Place>(count, scheduler);
  std::vector<std::unique_ptr<Rendezvous>> ends;
  for (std::size_t rank = 0; rank < count; ++rank) ends.push_back(std::make_unique<Local>(place, rank));
  return ends;
}

}  // namespace rondo::rendezvous
