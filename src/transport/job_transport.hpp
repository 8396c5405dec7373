#pragma once
/// What the groups of a job have in common, whatever their wires: members who are ranks of the job, and a
/// watcher who tells why a group has ended, and brings the wires that are made late.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transport/framed.hpp"
#include "transport/job.hpp"

namespace rondo::transport {

/// Leaves to its kinds: where streams come from, the arena, sub-groups. They call leave() in their
/// destructor.
class JobTransport : public FramedTransport, private control::Watched {
 public:
  /// `members`: ranks of the job in the group's order, this one included; `group`: hash_of its id. `bell` is
  /// what this process's waiters sleep on.
  JobTransport(std::shared_ptr<Job> job, base::Event& bell, std::uint64_t group, std::vector<int> members,
               Streams streams);

  int local_rank() const noexcept override;
  int local_size() const noexcept override;
  bool poll() override;
  using FramedTransport::poll;
  base::TimePoint next_turn() const override;
  void fail(const Failure& cause) override;
  bool failed() const noexcept override { return failed_.load(std::memory_order_acquire); }
  std::optional<Failure> failure() const override;

 protected:
  /// From now on the watcher tells this group; once, at the end of a kind's constructor.
  void enroll() { job_->watcher().enroll(group_, *this); }
  /// The watcher tells it no more, and its wires close.
  void leave() noexcept;
  const std::shared_ptr<Job>& job() const noexcept { return job_; }
  const std::vector<int>& members() const noexcept { return members_; }
  /// Whether this rank's cause is the first of the group's, as far as its ranks share a place to look; called
  /// once. Otherwise the first one is on its way.
  virtual bool is_first_to_fail() { return true; }
  /// Ranks of the job, of ranks of this group.
  std::vector<int> members_of(std::span<const int> ranks) const;
  using Make = std::function<std::unique_ptr<Transport>(std::vector<int> members, base::Deadline& deadline,
                                                        const control::Proceed& proceed)>;
  /// What `make` makes of these ranks of this group: the wires of the group called `id`. When it fails, this
  /// group ends, on all ranks, and whoever waits for a member of the part, or has it already, is told.
  std::unique_ptr<Transport> part(const GroupId& id, std::span<const int> ranks, const Make& make);

 private:
  /// What the watcher has told and the next poll acts on.
  struct News {
    std::vector<std::pair<int, net::SocketStream>> connected;
    std::vector<std::pair<int, std::string>> unconnected;
    std::vector<int> left;
    std::vector<std::pair<int, std::string>> lost;  // members whose process is gone, and the words for it
  };
  /// The end of a wire: whose fault it was may still be told.
  struct Suspicion {
    Lane lane;
    Failure cause;
    base::TimePoint until;
  };

  bool keep(const Failure& cause);
  void await_first_cause();
  void broken(Lane lane, const Failure& cause) override;
  void want(int peer, Lane lane) override;
  void leave_unmade(int peer, Lane lane) override;
  void ended(const Failure& cause) override { keep(cause); }
  void lost(int peer, const std::string& why) override;
  void connected(int peer, net::SocketStream stream) override;
  void unconnected(int peer, const std::string& why) override;
  void left(int peer) override;
  template <class Note>
  void note(int peer, const Note& write);
  News take_news();
  void act_on(News& news);
  void mourn(const News& news);
  void suspect();

  std::shared_ptr<Job> job_;
  base::Event& bell_;
  std::uint64_t group_;
  std::vector<int> members_;
  std::vector<Suspicion> suspicions_;
  std::atomic<bool> any_news_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  News news_;
  std::optional<Failure> failure_;
};

/// The place of rank `self` of the job in `members`.
int place_in(const std::vector<int>& members, int self) noexcept;

}  // namespace rondo::transport
