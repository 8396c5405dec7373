#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "base/codec.hpp"
#include "base/fd.hpp"
#include "base/problem.hpp"
#include "net/local.hpp"

namespace rondo::transport::shm {

namespace {

using base::Problem;

[[noreturn]] void unavailable(const std::string& what, int cause) {
  throw Problem(ErrorKind::unavailable, -1, fmt::format("{}: {}", what, base::error_words(cause)));
}

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::uint64_t available_in_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string rest;
  std::uint64_t kibibytes = 0;
  while (file >> name >> kibibytes && std::getline(file, rest)) {
    if (name == "MemAvailable:") return kibibytes * 1024;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t memory_left() {
  std::uint64_t left = available_in_machine();
  const auto most = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (most && used) left = std::min(left, *most - std::min(*most, *used));
  return left;
}

Segment::Segment(std::size_t bytes, std::size_t mapped)
    : fd_(memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING)), mapped_(mapped) {
  const std::string what = fmt::format("cannot make a segment of {} bytes of shared memory", bytes);
  // Who makes a larger file is not refused, but ended.
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur) unavailable(what, EFBIG);
  if (!fd_ || ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    unavailable(what, errno);
  map();
}

Segment::Segment(base::Fd descriptor, std::size_t bytes, std::size_t mapped)
    : fd_(std::move(descriptor)), mapped_(mapped) {
  struct stat about {};
  if (fstat(fd_.get(), &about) != 0) unavailable("cannot use the segment of shared memory", errno);
  // Memory that somebody could cut would be a trap.
  const int seals = fcntl(fd_.get(), F_GET_SEALS);
  if (static_cast<std::size_t>(about.st_size) != bytes || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    throw Problem(ErrorKind::unavailable, -1,
                  fmt::format("what was handed over is no segment of {} bytes of shared memory", bytes));
  }
  map();
}

Segment::~Segment() {
  if (data_ != nullptr) munmap(data_, mapped_);
}

void Segment::map() {
  void* const memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) unavailable(fmt::format("cannot map {} bytes of shared memory", mapped_), errno);
  data_ = static_cast<std::byte*>(memory);
}

void Segment::reserve(std::size_t offset, std::size_t bytes) { reserve_memory(fd_.get(), offset, bytes); }

void reserve_memory(int segment, std::size_t offset, std::size_t bytes) {
  // The system would rather end processes than refuse: asked for more than there is, it is not even asked.
  if (const std::uint64_t left = memory_left(); bytes > left) {
    throw Problem(ErrorKind::unavailable, -1,
                  fmt::format("{} bytes of shared memory are needed, {} are available", bytes, left));
  }
  int result = 0;
  do {
    result = fallocate(segment, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result != 0) unavailable(fmt::format("cannot reserve {} bytes of shared memory", bytes), errno);
}

namespace {

// What the maker and the others tell each other, one after the other: all is well, with the token; or the
// problem, with the rank of the job that it is about.
struct Word {
  std::optional<ErrorKind> problem;
  std::string text;
  int rank = -1;
};

constexpr std::size_t most_words = 1024;
// Kind of the problem counted from one (1), rank (4), length of the text (2).
constexpr std::size_t head_bytes = 7;

void say(const net::SocketStream& to, const Word& word, base::Deadline& deadline) {
  const std::string text = word.text.substr(0, most_words);
  std::vector<std::byte> frame(head_bytes + text.size());
  base::Writer writer(frame);
  writer.put(static_cast<std::uint8_t>(word.problem ? 1 + static_cast<int>(*word.problem) : 0));
  writer.put(static_cast<std::int32_t>(word.rank));
  writer.put(static_cast<std::uint16_t>(text.size()));
  writer.put(std::as_bytes(std::span(text)));
  net::write_all(to.fd(), frame, deadline);
}

// Looks up now and then: the other side may have connected and then given the whole thing up.
void wait_for_words(const net::SocketStream& from, base::Deadline& deadline,
                    const control::Proceed& proceed) {
  constexpr base::Duration patience = std::chrono::milliseconds(20);
  while (proceed) {
    proceed();
    base::Deadline moment(base::real_scheduler(), patience);
    if (net::wait_ready(from.fd(), net::Ready::read, moment) || deadline.expired()) return;
  }
}

Word hear(const net::SocketStream& from, base::Deadline& deadline, const control::Proceed& proceed) {
  wait_for_words(from, deadline, proceed);
  std::array<std::byte, head_bytes> head;
  net::read_all(from.fd(), head, deadline);
  base::Reader reader(head);
  const int problem = reader.get<std::uint8_t>();
  Word word;
  word.rank = reader.get<std::int32_t>();
  const std::size_t length = reader.get<std::uint16_t>();
  if (problem > 1 + static_cast<int>(ErrorKind::aborted) || length > most_words)
    throw Problem(ErrorKind::disconnected, -1, "its words about the segment make no sense");
  if (problem > 0) word.problem = static_cast<ErrorKind>(problem - 1);
  word.text.resize(length);
  net::read_all(from.fd(), std::as_writable_bytes(std::span(word.text)), deadline);
  return word;
}

void throw_if_bad(const Word& word) {
  if (word.problem) throw Problem(*word.problem, word.rank, word.text);
}

Word word_of(int rank, const Problem& problem) {
  const std::string name = fmt::format("rank {}", rank);
  const std::string text = problem.what();
  return {problem.kind(), text.starts_with(name) ? text : name + ": " + text, rank};
}

std::unique_ptr<Segment> make(const SegmentSizes& sizes, const control::Nonce& token) {
  auto segment = std::make_unique<Segment>(sizes.bytes, sizes.mapped);
  segment->reserve(0, sizes.reserved);
  std::memcpy(segment->data(), token.data(), token.size());
  return segment;
}

class Maker {
 public:
  Maker(Job& job, base::Deadline& deadline, const control::Proceed& proceed)
      : job_(job), deadline_(deadline), proceed_(proceed) {}

  std::unique_ptr<Segment> run(std::uint64_t group, const std::vector<int>& members,
                               const SegmentSizes& sizes) {
    const control::Nonce token = control::random_nonce();
    std::unique_ptr<Segment> segment;
    Word verdict{std::nullopt, std::string(reinterpret_cast<const char*>(token.data()), token.size())};
    try {
      segment = make(sizes, token);
    } catch (const Problem& problem) {
      verdict = word_of(job_.rank(), problem);
    }
    for (const int member : members) {
      if (member == job_.rank()) continue;
      try {
        peers_.emplace_back(member,
                            job_.local_link(control::Purpose::segment, group, member, deadline_, proceed_));
      } catch (const Problem& problem) {
        if (!verdict.problem) verdict = word_of(member, problem);
      }
    }
    // Whatever happens with one of them, the others are told the same: all get it or none.
    const Word offer = std::exchange(verdict, {verdict.problem, verdict.problem ? verdict.text : ""});
    each_peer(verdict, [&](int, const net::SocketStream& peer) {
      say(peer, offer, deadline_);
      if (!offer.problem) net::send_descriptor(peer.fd(), segment->descriptor(), deadline_);
    });
    throw_if_bad(offer);
    each_peer(verdict, [&](int rank, const net::SocketStream& peer) {
      const Word theirs = hear(peer, deadline_, proceed_);
      if (theirs.problem) throw Problem(*theirs.problem, rank, theirs.text);
    });
    Word unheard;  // who is gone by now has agreed: it is missed later, by the watcher
    each_peer(unheard, [&](int, const net::SocketStream& peer) { say(peer, verdict, deadline_); });
    throw_if_bad(verdict);
    return segment;
  }

 private:
  // The first that goes wrong is the verdict.
  template <class Action>
  void each_peer(Word& verdict, Action&& action) {
    for (auto& [rank, peer] : peers_) {
      try {
        action(rank, peer);
      } catch (const Problem& problem) {
        if (!verdict.problem) verdict = word_of(rank, problem);
      }
    }
  }

  Job& job_;
  base::Deadline& deadline_;
  const control::Proceed& proceed_;
  std::vector<std::pair<int, net::SocketStream>> peers_;
};

std::unique_ptr<Segment> take(const net::SocketStream& maker, const SegmentSizes& sizes,
                              base::Deadline& deadline, const control::Proceed& proceed) {
  const Word offer = hear(maker, deadline, proceed);
  throw_if_bad(offer);
  std::unique_ptr<Segment> segment;
  Word mine;
  try {
    segment =
        std::make_unique<Segment>(net::receive_descriptor(maker.fd(), deadline), sizes.bytes, sizes.mapped);
    if (offer.text.size() > segment->size() ||
        std::memcmp(segment->data(), offer.text.data(), offer.text.size()) != 0)
      mine = {ErrorKind::unavailable, "the segment of shared memory is another one here"};
  } catch (const Problem& problem) {
    if (problem.kind() == ErrorKind::timed_out) throw;
    mine = {ErrorKind::unavailable, problem.what()};
  }
  say(maker, mine, deadline);
  const Word verdict = hear(maker, deadline, proceed);
  throw_if_bad(verdict);
  return segment;
}

}  // namespace

std::unique_ptr<Segment> share(Job& job, std::uint64_t purpose_group, const std::vector<int>& members,
                               SegmentSizes sizes, base::Deadline& deadline,
                               const control::Proceed& proceed) {
  const int maker = *std::min_element(members.begin(), members.end());
  if (maker == job.rank()) return Maker(job, deadline, proceed).run(purpose_group, members, sizes);
  try {
    return take(job.local_link(control::Purpose::segment, purpose_group, maker, deadline), sizes, deadline,
                proceed);
  } catch (const Problem& problem) {
    if (problem.kind() != ErrorKind::disconnected || problem.peer() >= 0) throw;
    throw_if_bad(word_of(maker, problem));
    throw;
  }
}

}  // namespace rondo::transport::shm
