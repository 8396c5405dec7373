#include "transport/shm/shm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <utility>

#include "base/problem.hpp"
#include "transport/job_transport.hpp"
#include "transport/shm/layout.hpp"

namespace rondo::transport::shm {

namespace {

/// A segment and what lies in it.
class GroupMemory {
 public:
  GroupMemory(const GroupLayout& layout, std::unique_ptr<Segment> segment)
      : layout_(layout), segment_(std::move(segment)) {}

  std::size_t ranks() const noexcept { return layout_.ranks; }
  std::size_t slot_bytes() const noexcept { return layout_.slot_bytes; }
  std::span<Published> published() noexcept { return {&at<Published>(layout_.published(0)), layout_.ranks}; }
  std::span<Door> doors() noexcept { return {&at<Door>(layout_.door(0)), layout_.ranks}; }
  std::byte* slots() noexcept { return segment_->data() + layout_.slot(0); }
  std::size_t ring_index(int from, int to, int lane) const noexcept {
    return layout_.ring_index(static_cast<std::size_t>(from), static_cast<std::size_t>(to),
                              static_cast<std::size_t>(lane));
  }
  ByteRing ring(std::size_t index) noexcept {
    return {at<RingState>(layout_.ring_state(index)), segment_->data() + layout_.ring(index),
            layout_.ring_bytes()};
  }
  /// False when there is no memory for it: the group has then ended.
  bool reserve_ring(std::size_t index) {
    try {
      segment_->reserve(layout_.ring(index), layout_.ring_bytes());
      return true;
    } catch (const base::Problem& problem) {
      const int rank = group_->rank();
      group_->fail(Failure{problem.kind(), rank, fmt::format("rank {}: {}", rank, problem.what())});
      return false;
    }
  }
  /// True for the first of all ranks.
  bool claim_failure() noexcept { return at<std::atomic<std::uint32_t>>(failed_at).exchange(1) == 0; }
  void belongs_to(Transport& group) noexcept { group_ = &group; }

 private:
  template <class Thing>
  Thing& at(std::size_t offset) noexcept {
    // The memory was zero, which is how these begin.
    return *reinterpret_cast<Thing*>(segment_->data() + offset);
  }

  GroupLayout layout_;
  std::unique_ptr<Segment> segment_;
  Transport* group_ = nullptr;
};

/// Both directions of a pair's lane.
class RingStream final : public net::Stream {
 public:
  RingStream(GroupMemory& memory, std::size_t in, std::size_t out, base::Bell& peer) noexcept
      : memory_(memory), in_(in), out_(out), peer_(peer) {}
  ~RingStream() override { shutdown(); }

  net::Moved read(std::span<std::byte> memory) override {
    const ByteRing::Result result = memory_.ring(in_).read(memory);
    if (result.wake) peer_.nudge();
    return result.moved;
  }
  net::Moved writev(std::span<const std::byte> first, std::span<const std::byte> second) override {
    if (!reserved_ && !memory_.reserve_ring(out_)) return {net::Moved::State::closed, 0};
    reserved_ = true;
    const ByteRing::Result result = memory_.ring(out_).write(first, second);
    if (result.wake) peer_.nudge();
    return result.moved;
  }
  void shutdown() noexcept override {
    if (std::exchange(over_, true)) return;
    memory_.ring(out_).close_writer();
    memory_.ring(in_).close_reader();
    peer_.nudge();
  }

 private:
  GroupMemory& memory_;
  std::size_t in_;
  std::size_t out_;
  base::Bell& peer_;
  bool reserved_ = false;
  bool over_ = false;
};

/// The group's arena as this rank sees it.
class SharedArena final : public Arena {
 public:
  SharedArena(GroupMemory& memory, int rank, std::vector<base::Bell*> others)
      : Arena(memory.published(), memory.slots(), memory.slot_bytes(), rank), others_(std::move(others)) {}

 private:
  void wake_others() override {
    for (base::Bell* each : others_) each->nudge();
  }

  std::vector<base::Bell*> others_;
};

/// How this rank and the others read each other's memory.
class SharedDoors final : public Doors {
 public:
  SharedDoors(GroupMemory& memory, int rank, std::vector<base::Bell*> bells)
      : Doors(memory.doors(), rank, random_number()), bells_(std::move(bells)) {}

 private:
  static std::uint64_t random_number() {
    const control::Nonce nonce = control::random_nonce();
    std::uint64_t number = 0;
    std::memcpy(&number, nonce.data(), sizeof number);
    return number;
  }
  void wake(int rank) override { bells_[static_cast<std::size_t>(rank)]->nudge(); }

  std::vector<base::Bell*> bells_;
};

FramedTransport::Streams streams_of(GroupMemory& memory, Host& host, const std::vector<int>& members) {
  const int rank = place_in(members, host.job().rank());
  FramedTransport::Streams streams(members.size());
  for (int peer = 0; peer < static_cast<int>(members.size()); ++peer) {
    if (peer == rank) continue;
    const auto at = static_cast<std::size_t>(peer);
    for (int lane = 0; lane < lane_count; ++lane) {
      streams[at][static_cast<std::size_t>(lane)] =
          std::make_unique<RingStream>(memory, memory.ring_index(peer, rank, lane),
                                       memory.ring_index(rank, peer, lane), host.bell_of(members[at]));
    }
  }
  return streams;
}

class ShmTransport final : public JobTransport {
 public:
  ShmTransport(std::shared_ptr<Host> host, std::unique_ptr<GroupMemory> memory, std::uint64_t group,
               const std::vector<int>& members)
      : JobTransport(host->shared_job(), host->bell(), group, members, streams_of(*memory, *host, members)),
        host_(std::move(host)),
        memory_(std::move(memory)) {
    memory_->belongs_to(*this);
    std::vector<base::Bell*> bells;
    for (const int each : members) bells.push_back(&host_->bell_of(each));
    doors_.emplace(*memory_, rank(), bells);
    if (memory_->slot_bytes() > 0 && members.size() > 1) {
      bells.erase(bells.begin() + rank());
      arena_.emplace(*memory_, rank(), std::move(bells));
    }
    enroll();
  }
  ~ShmTransport() override { leave(); }

  Backend kind() const noexcept override { return Backend::shm; }
  Arena* arena() noexcept override { return arena_ ? &*arena_ : nullptr; }
  Doors* doors() noexcept override { return &*doors_; }
  std::span<std::byte> heap(int of) override {
    return of == rank() ? host_->heap().own() : host_->heap().of(members()[static_cast<std::size_t>(of)]);
  }
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override { return host_->heap().allocate(bytes); }
  bool is_first_to_fail() override { return memory_->claim_failure(); }

  std::unique_ptr<Transport> sub(const GroupId& id, std::span<const int> chosen) override {
    return part(id, chosen,
                [&](std::vector<int> ranks, base::Deadline& deadline, const control::Proceed& proceed) {
                  return connect(host_, id, std::move(ranks), deadline, proceed);
                });
  }

 private:
  std::shared_ptr<Host> host_;
  std::unique_ptr<GroupMemory> memory_;
  std::optional<SharedArena> arena_;
  std::optional<SharedDoors> doors_;
};

// Names the job's own segment among those of groups, whose ids have an even length.
std::uint64_t job_segment() { return hash_of({0}); }

}  // namespace

Host::Host(std::shared_ptr<Job> job, std::unique_ptr<Segment> segment, const JobLayout& layout)
    : job_(std::move(job)),
      segment_(std::move(segment)),
      layout_(layout),
      heap_(std::make_shared<Heap>(segment_->descriptor(), layout, job_->rank())),
      bell_(base::real_scheduler(), bell_of(job_->rank())) {}

base::Bell& Host::bell_of(int rank) noexcept {
  return *reinterpret_cast<base::Bell*>(segment_->data() + layout_.bell(static_cast<std::size_t>(rank)));
}

// Address space for the tensors of a rank: no rank can have more than the machine, and all see the same
// machine.
std::size_t Host::heap_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::shared_ptr<Host> Host::open(std::shared_ptr<Job> job, base::Deadline& deadline) {
  if (!job->apart().empty()) {
    throw base::Problem(ErrorKind::unavailable, -1, "shm needs all ranks on one host, but " + job->apart());
  }
  const std::vector<int> everybody = job->everybody();
  const JobLayout layout{everybody.size(), heap_bytes()};
  auto segment =
      share(*job, job_segment(), everybody, {layout.bytes(), layout.reserved(), layout.reserved()}, deadline);
  return std::shared_ptr<Host>(new Host(std::move(job), std::move(segment), layout));
}

std::unique_ptr<Transport> connect(const std::shared_ptr<Host>& host, const GroupId& id,
                                   std::vector<int> members, base::Deadline& deadline,
                                   const control::Proceed& proceed) {
  const Config& config = host->job().config();
  const std::uint64_t group = hash_of(id);
  // A group of one needs no wires.
  const std::size_t slot = members.size() > 1 ? slot_bytes_for(config.arena_bytes, members.size()) : 0;
  const GroupLayout layout{members.size(), slot};
  auto segment = share(host->job(), group, members, {layout.bytes(), layout.reserved(), layout.bytes()},
                       deadline, proceed);
  auto memory = std::make_unique<GroupMemory>(layout, std::move(segment));
  return std::make_unique<ShmTransport>(host, std::move(memory), group, members);
}

}  // namespace rondo::transport::shm
