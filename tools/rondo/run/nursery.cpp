#include "run/nursery.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace rondo::tools::run {

Nursery::Nursery(const std::vector<Start>& starts, const sigset_t& signals)
    : commands_(make_pipe()), reports_(make_pipe()) {
  make_nonblocking(reports_.read.get());
  process_ = checked(::fork(), "no process for the ranks");
  if (process_ == 0) {
    // A signal for the launcher's group, as a terminal sends, is for the launcher to pass on.
    (void)::setpgid(0, 0);
    commands_.write.reset();
    reports_.read.reset();
    ::_exit(tend_ranks(starts, signals, commands_.read.get(), reports_.write.get()));
  }
  commands_.read.reset();
  reports_.write.reset();
}

Nursery::~Nursery() {
  close();
  reports_.read.reset();  // it must not wait to be heard
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::vector<Report> Nursery::take_reports(bool& over) {
  std::vector<Report> taken;
  for (;;) {
    std::array<char, sizeof(Report) * 64> bytes;
    // Each is written whole and smaller than what a pipe keeps together; so are sums of them.
    const ssize_t got = ::read(reports_.read.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    over = got == 0;
    if (got <= 0) return taken;
    for (std::size_t at = 0; at + sizeof(Report) <= static_cast<std::size_t>(got); at += sizeof(Report)) {
      Report report;
      std::memcpy(&report, bytes.data() + at, sizeof(report));
      taken.push_back(report);
    }
  }
}

void Nursery::signal_all(int signal) noexcept {
  if (!commands_.write) return;
  const auto byte = static_cast<unsigned char>(signal);
  (void)!::write(commands_.write.get(), &byte, 1);
}

}  // namespace rondo::tools::run
