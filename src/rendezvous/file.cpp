#include "rendezvous/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "base/check.hpp"
#include "base/fd.hpp"
#include "base/problem.hpp"
#include "rendezvous/file_record.hpp"
#include "rendezvous/roll.hpp"
#include "rendezvous/star_frames.hpp"

namespace rondo::rendezvous {

namespace {

using base::Fd;
using base::Problem;
namespace fs = std::filesystem;

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return text;
}

[[noreturn]] void fail(std::string_view what, const fs::path& path) {
  throw Problem(ErrorKind::unavailable, -1,
                fmt::format("cannot {} {}: {}", what, path.string(), base::error_words(errno)));
}

/// The file appears whole or not at all.
void write_file(const fs::path& path, const fs::path& under_way, std::string_view text) {
  Fd fd(::open(under_way.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) fail("create", under_way);
  while (!text.empty()) {
    const ssize_t put = ::write(fd.get(), text.data(), text.size());
    if (put < 0 && errno != EINTR) fail("write", under_way);
    if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::rename(under_way.c_str(), path.c_str()) != 0) fail("rename a file to", path);
}

/// Whole files only, of at most so many bytes; none when there is no such file.
std::optional<std::string> read_file(const fs::path& path, std::size_t most) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (!fd && (errno == EMFILE || errno == ENFILE)) fail("open", path);
  if (!fd || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  if (about.st_size < 0 || static_cast<std::uint64_t>(about.st_size) > most) return std::nullopt;
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return text;
}

class Files final : public Rendezvous {
 public:
  Files(const control::Identity& who, fs::path directory, base::Scheduler& scheduler)
      : who_(who),
        size_(static_cast<std::size_t>(who.size)),
        directory_(std::move(directory)),
        scheduler_(scheduler),
        nonce_(control::random_nonce()),
        under_way_(directory_ / fmt::format(".rondo-{}-{}-{}", hex(who.job), who.rank, hex(nonce_))) {}

  std::vector<Blob> exchange(const Blob& mine, base::Deadline& deadline) override;

 private:
  fs::path path_of(std::size_t rank) const {
    return directory_ / fmt::format("rondo-{}-{}-{}", hex(who_.job), own_.exchange, rank);
  }
  std::size_t me() const noexcept { return static_cast<std::size_t>(who_.rank); }
  void begin(const Blob& mine);
  std::vector<Blob> wait_for_all(base::Deadline& deadline);
  bool look_at(std::size_t rank);
  std::optional<FileRecord> read(std::size_t rank);
  void write() { write_file(path_of(me()), under_way_, encode(own_, who_.job, who_.secret)); }
  void check_own();
  void clean_up();
  [[noreturn]] void give_up() const;

  control::Identity who_;
  std::size_t size_;
  fs::path directory_;
  base::Scheduler& scheduler_;
  control::Nonce nonce_;
  fs::path under_way_;  // our file before it appears
  FileRecord own_;
  std::vector<bool> met_;  // who has seen us
  std::vector<Blob> blobs_;
  std::map<std::size_t, std::string> unbelieved_;
  bool contested_ = false;  // somebody else writes our file too
  std::optional<Problem> failure_;
};

std::vector<Blob> Files::exchange(const Blob& mine, base::Deadline& deadline) {
  if (failure_) throw Problem(*failure_);
  if (mine.size() > most_blob_bytes)
    throw Problem(ErrorKind::invalid_argument, -1,
                  fmt::format("a blob of {} bytes, at most {} are exchanged", mine.size(), most_blob_bytes));
  try {
    (void)deadline.end();
    begin(mine);
    std::vector<Blob> all = wait_for_all(deadline);
    clean_up();
    return all;
  } catch (const Problem& problem) {
    failure_ = problem;
    (void)::unlink(under_way_.c_str());
    if (!contested_) (void)::unlink(path_of(me()).c_str());
    throw;
  }
}

void Files::begin(const Blob& mine) {
  ++own_.exchange;
  own_.rank = who_.rank;
  own_.done = false;
  own_.nonce = nonce_;
  own_.blob = mine;
  own_.seen.assign(size_, {});
  own_.seen[me()] = nonce_;
  met_.assign(size_, false);
  met_[me()] = true;
  blobs_.assign(size_, {});
  blobs_[me()] = mine;
  unbelieved_.clear();
  write();
}

std::vector<Blob> Files::wait_for_all(base::Deadline& deadline) {
  constexpr base::Duration shortest = std::chrono::milliseconds(1), longest = std::chrono::milliseconds(50);
  base::Duration pause = shortest;
  for (;;) {
    check_own();
    bool news = false;
    for (std::size_t rank = 0; rank < size_; ++rank)
      if (!met_[rank]) news = look_at(rank) || news;
    if (news) {
      write();
      pause = shortest;
    }
    if (missing_in(met_).empty()) return std::exchange(blobs_, {});
    if (deadline.expired()) give_up();
    scheduler_.sleep_until(std::min(scheduler_.now() + pause, deadline.end()));
    pause = std::min(2 * pause, longest);
  }
}

/// True when there is somebody new to tell about.
bool Files::look_at(std::size_t rank) {
  std::optional<FileRecord> record = read(rank);
  if (!record) return false;
  const bool news = own_.seen[rank] != record->nonce;
  own_.seen[rank] = record->nonce;
  if (record->seen[me()] == nonce_) {  // so it has been written since we began
    met_[rank] = true;
    blobs_[rank] = std::move(record->blob);
  }
  return news;
}

/// What can be believed of a rank's file.
std::optional<FileRecord> Files::read(std::size_t rank) {
  const std::optional<std::string> text = read_file(path_of(rank), most_file_bytes(who_.size));
  if (!text) return std::nullopt;
  FileRecord record;
  switch (decode(*text, who_.job, who_.secret, record)) {
    case FileState::malformed:
      unbelieved_[rank] = fmt::format("the file of rank {} is damaged", rank);
      return std::nullopt;
    case FileState::unsigned_:
      unbelieved_[rank] =
          fmt::format("rank {} and rank {} hold different secrets of the job", who_.rank, rank);
      return std::nullopt;
    case FileState::sound:
      break;
  }
  if (record.seen.size() != size_) {
    unbelieved_[rank] = fmt::format("rank {} was started with size {}, rank {} with size {}", who_.rank,
                                    size_, rank, record.seen.size());
    return std::nullopt;
  }
  if (record.rank != static_cast<int>(rank) || record.exchange != own_.exchange) return std::nullopt;
  unbelieved_.erase(rank);
  return record;
}

void Files::check_own() {
  const std::optional<FileRecord> record = read(me());
  if (!record || record->nonce == nonce_) return;
  contested_ = true;
  // So that the other one sees it too. More than once: it may just be writing over ours.
  for (int i = 0; i < 4; ++i) {
    write();
    scheduler_.sleep_until(scheduler_.now() + std::chrono::milliseconds(25));
  }
  throw Problem(ErrorKind::unavailable, who_.rank,
                fmt::format("two processes say that they are rank {} in {}", who_.rank, directory_.string()));
}

/// The last to be done sees that all are, and takes the files away.
void Files::clean_up() {
  own_.done = true;
  write();  // the blob stays in it: others may still have to read it
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (rank == me()) continue;
    const std::optional<FileRecord> record = read(rank);
    if (record && !record->done) return;
  }
  for (std::size_t rank = 0; rank < size_; ++rank) (void)::unlink(path_of(rank).c_str());
}

void Files::give_up() const {
  std::string text = roll_text(met_);
  if (own_.exchange > 1) text = fmt::format("exchange {}: {}", own_.exchange, roll_text(met_, "came"));
  for (const auto& [rank, words] : unbelieved_) text += "; " + words;
  throw Problem(ErrorKind::timed_out, missing_in(met_).front(), text);
}

}  // namespace

std::unique_ptr<Rendezvous> join_files(const control::Identity& who, fs::path directory,
                                       base::Scheduler& scheduler) {
  RONDO_INVARIANT(who.rank >= 0 && who.rank < who.size);
  return std::make_unique<Files>(who, std::move(directory), scheduler);
}

}  // namespace rondo::rendezvous
