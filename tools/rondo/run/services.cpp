#include "run/services.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "rendezvous/star.hpp"

namespace rondo::tools::run {

namespace {

net::Listener free_port() { return net::Listener(net::resolve({"127.0.0.1", 0}).front()); }

// Empty when descriptors have run out for the moment.
std::vector<net::Listener> copy_of(const net::Listener& listener) {
  std::vector<net::Listener> copies;
  base::Fd fd(::fcntl(listener.fd(), F_DUPFD_CLOEXEC, 3));
  if (fd) copies.emplace_back(std::move(fd));
  return copies;
}

}  // namespace

Secret make_secret() {
  Secret secret;
  for (int half = 0; half < 2; ++half)
    for (const std::byte each : control::random_nonce())
      secret.text += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  const base::Fd made(checked(::memfd_create("rondo-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING), "no secret"));
  // Low numbers are what scripts give to their own files.
  constexpr int first = 64;
  secret.file = base::Fd(checked(::fcntl(made.get(), F_DUPFD_CLOEXEC, first), "no secret"));
  const ssize_t wrote = ::write(secret.file.get(), secret.text.data(), secret.text.size());
  if (wrote != static_cast<ssize_t>(secret.text.size())) throw_errno("no secret");
  constexpr int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  checked(::fcntl(secret.file.get(), F_ADD_SEALS, seals), "no secret");
  return secret;
}

Services::Services(int size, const std::string& secret)
    : meeting_(free_port()),
      control_(free_port()),
      rendezvous_(net::to_string(meeting_.bound())),
      launcher_(net::to_string(control_.bound())) {
  identity_.rank = control::no_rank;
  identity_.size = size;
  identity_.job = control::job_of(rendezvous_);
  identity_.secret = secret;
}

Services::~Services() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.ring();
  if (thread_.joinable()) thread_.join();
}

void Services::start(control::HandshakeHall::Report report) {
  std::vector<net::Listener> listeners;
  listeners.push_back(std::move(control_));
  watcher_ = std::make_unique<control::Watcher>(identity_, std::move(listeners), report);
  watcher_->watch_all_who_come();
  thread_ = base::real_scheduler().spawn([this, report = std::move(report)] { serve(report); });
}

void Services::tell_lost(int rank, const std::string& why) {
  watcher_->tell_lost(rank, why);
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_.emplace(ErrorKind::disconnected, rank, fmt::format("rank {} was lost: {}", rank, why));
  wake_.ring();
}

// Every init of the ranks is two exchanges; when one ends badly, the next init starts anew. The limits are
// those of the ranks.
void Services::serve(const control::HandshakeHall::Report& report) {
  rendezvous::StarOptions options;
  options.report = report;
  options.stop = wake_.fd();
  options.stop_reason = [this](std::size_t joined) { return reason_to_stop(joined); };
  base::Scheduler& scheduler = base::real_scheduler();
  for (;;) {
    try {
      auto listeners = copy_of(meeting_);
      if (listeners.empty()) {
        scheduler.sleep_until(scheduler.now() + std::chrono::milliseconds(50));
        continue;
      }
      const auto star = rendezvous::serve_star(identity_, std::move(listeners), options);
      base::Deadline without_end(scheduler, base::Duration::max());
      for (int exchange = 0; exchange < 2; ++exchange) (void)star->exchange({}, without_end);
    } catch (const base::Problem&) {
      const std::lock_guard lock(mutex_);
      if (over_) return;
    }
  }
}

std::optional<base::Problem> Services::reason_to_stop(std::size_t joined) {
  const std::lock_guard lock(mutex_);
  if (over_) return base::Problem(ErrorKind::aborted, -1, "the launcher has ended");
  // Those who come later wait for somebody who will never come: they are told as soon as they are there.
  if (lost_ && joined > 0) return lost_;
  wake_.silence();
  return std::nullopt;
}

}  // namespace rondo::tools::run
