#include "run/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fd.hpp"
#include "run/descendants.hpp"
#include "run/places.hpp"
#include "run/words.hpp"

namespace rondo::tools::run {

namespace {

// How long a failure is looked at before somebody is blamed: whoever failed because of another may be seen
// first.
constexpr base::Duration settling = std::chrono::milliseconds(50);

constexpr int status_of_lost_control = 1;
constexpr int status_of_failed_output = 1;
constexpr int status_of_limit = 124;
constexpr int status_not_runnable = 126;
constexpr int status_not_found = 127;

base::TimePoint now() { return base::real_scheduler().now(); }

base::TimePoint after(base::Duration time) {
  const base::TimePoint begin = now();
  return time >= base::never - begin ? base::never : begin + time;
}

bool is_due(std::optional<base::TimePoint>& when) {
  if (!when || now() < *when) return false;
  when.reset();
  return true;
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

}  // namespace

Launcher::Launcher(const RunOptions& options, const std::vector<std::string>& environment)
    : options_(options),
      kept_(children_of_this_process()),
      secret_(make_secret()),
      services_(options.ranks, secret_.text),
      output_(STDOUT_FILENO, STDERR_FILENO),
      outcome_(options.ranks, options.on_failure) {
  adopt_orphans();
  const JobPlace place{services_.rendezvous(), services_.launcher(), secret_.file.get()};
  const base::Fd nothing(checked(::open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null"));
  Pipe typed;
  if (is_terminal(STDIN_FILENO)) {
    typed = make_pipe();
    input_ = Input(STDIN_FILENO, std::move(typed.write));
  }
  std::vector<base::Fd> ours;  // the ranks' ends, until they have them
  std::vector<Start> starts;
  for (int rank = 0; rank < options.ranks; ++rank) {
    Start start;
    start.arguments = options.program;
    start.environment = environment_of(rank, options, place, environment);
    start.in = rank > 0 ? nothing.get() : typed.read ? typed.read.get() : STDIN_FILENO;
    start.secret = place.secret_fd;
    const std::string prefix = options.prefix ? fmt::format("[{}] ", rank) : "";
    for (const auto& [kind, end] :
         {std::pair{Output::Kind::out, &start.out}, std::pair{Output::Kind::err, &start.err}}) {
      Pipe pipe = make_pipe();
      output_.add(kind, std::move(pipe.read), prefix);
      *end = pipe.write.get();
      ours.push_back(std::move(pipe.write));
    }
    starts.push_back(std::move(start));
  }
  nursery_.emplace(starts, signals_.before());
  services_.start([this](const std::string& line) {
    const std::lock_guard lock(mutex_);
    reports_.push_back(line);
    reported_.ring();
  });
  if (options.timeout) limit_at_ = after(*options.timeout);
}

Launcher::~Launcher() {
  nursery_.reset();
  kill_descendants(kept_);  // nobody, unless something has happened to the nursery
}

int Launcher::run() {
  while (!ranks_over_ || !(output_.over() || no_output_)) turn();
  if (own_status_) return *own_status_;
  if (output_.error() != 0) {
    // What was queued for standard error has been written, so this comes last.
    fmt::print(stderr, "rondo run: standard output: {}\n", base::error_words(output_.error()));
    if (outcome_.exit_status() == 0) return status_of_failed_output;
  }
  return outcome_.exit_status();
}

void Launcher::turn() {
  std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}, {reported_.fd(), POLLIN, 0}};
  if (!ranks_over_) polled.push_back({nursery_->fd(), POLLIN, 0});
  input_.append_to(polled);
  output_.append_to(polled);
  if (::poll(polled.data(), polled.size(), time_to_wait()) < 0)
    for (pollfd& each : polled) each.revents = 0;
  while (const int signal = signals_.take()) obey(signal);
  pass_on_reports();
  if (!ranks_over_) hear_ranks();
  input_.turn();
  output_.turn(polled);
  look_at_clock();
}

int Launcher::time_to_wait() const {
  base::TimePoint next = base::never;
  for (const auto& each : {limit_at_, settle_at_, term_at_, kill_at_})
    if (each) next = std::min(next, *each);
  if (next == base::never) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

void Launcher::hear_ranks() {
  bool over = false;
  for (const Report& report : nursery_->take_reports(over)) obey(report);
  if (outcome_.culprit() && !outcome_.settled()) {
    if (outcome_.certain() || outcome_.left() == 0)
      settle();
    else if (!settle_at_)
      settle_at_ = after(settling);
  }
  if (outcome_.left() == 0) {
    limit_at_.reset();
    term_at_.reset();
    kill_at_.reset();
    nursery_->close();
  }
  if (!over) return;
  if (outcome_.left() > 0) {
    say("the process that held the ranks has been killed, and they with it");
    own_status_ = status_of_lost_control;
    kill_descendants(kept_);
  }
  ranks_over_ = true;
  output_.no_more();
}

void Launcher::obey(const Report& report) {
  switch (report.kind) {
    case Report::Kind::began:
      if (options_.verbose) say(fmt::format("rank {} is process {}", report.rank, report.value));
      return;
    case Report::Kind::not_run:
      cannot_start(report);
      return;
    case Report::Kind::not_started:
      cannot_start(report);
      outcome_.ended({report.rank, status_not_runnable << 8});
      return;
    case Report::Kind::ended:
      if (options_.verbose) say(fmt::format("rank {} {}", report.rank, sentence_of(report.value)));
      outcome_.ended({report.rank, report.value});
      if (is_failure(report.value)) services_.tell_lost(report.rank, ending_of(report.value));
      return;
  }
}

// Most often no rank can, and one line says it all.
void Launcher::cannot_start(const Report& report) {
  if (own_status_) return;
  const bool missing = report.value == ENOENT || report.value == ENOTDIR;
  own_status_ = missing ? status_not_found : status_not_runnable;
  told_to_end_ = true;
  say(fmt::format("cannot start {}: {}", options_.program.front(), base::error_words(report.value)));
  kill_all();
}

void Launcher::settle() {
  settle_at_.reset();
  outcome_.settle();
  if (told_to_end_) return;
  const Ending& culprit = *outcome_.culprit();
  const bool stops = options_.on_failure == OnFailure::stop;
  const char* const then = outcome_.left() == 0 ? "" : stops ? "; stopping the others" : "; the others go on";
  // The end of a pipe like `rondo run ... | head` is no news.
  const bool told_by_pipe = output_.is_left() && culprit.wait_status == SIGPIPE;
  if (!told_by_pipe) say(fmt::format("rank {} {}{}", culprit.rank, sentence_of(culprit.wait_status), then));
  if (!stops || outcome_.left() == 0) return;
  told_to_end_ = true;
  term_at_ = after(options_.grace);
  kill_at_ = after(std::max(options_.grace, options_.kill_after));
}

void Launcher::obey(int signal) {
  if (signal == SIGTSTP) {
    nursery_->signal_all(SIGSTOP);
    (void)::raise(SIGSTOP);  // until somebody sends SIGCONT, which is passed on as the others are
    return;
  }
  if (signal != SIGINT && signal != SIGTERM) {
    nursery_->signal_all(signal);
    return;
  }
  no_output_ = ranks_over_;  // nobody reads it, and somebody is tired of waiting
  if (++requests_to_end_ > 1) {
    kill_all();
    return;
  }
  told_to_end_ = true;
  say(fmt::format("{}: passed on to all ranks; a second one kills them", signal_name(signal)));
  nursery_->signal_all(signal);
  kill_at_ = after(options_.kill_after);
}

void Launcher::look_at_clock() {
  if (is_due(settle_at_)) settle();
  if (is_due(limit_at_)) {
    own_status_ = status_of_limit;
    told_to_end_ = true;
    say(fmt::format("the limit of {:g} s ran out; ending all ranks",
                    std::chrono::duration<double>(*options_.timeout).count()));
    nursery_->signal_all(SIGTERM);
    kill_at_ = after(options_.kill_after);
  }
  if (is_due(term_at_)) nursery_->signal_all(SIGTERM);
  if (is_due(kill_at_)) {
    say(fmt::format("killing {} that did not end",
                    outcome_.left() == 1 ? "a rank" : fmt::format("{} ranks", outcome_.left())));
    kill_all();
  }
}

void Launcher::kill_all() {
  term_at_.reset();
  kill_at_.reset();
  nursery_->signal_all(SIGKILL);
}

void Launcher::pass_on_reports() {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(mutex_);
    reported_.silence();
    lines.swap(reports_);
  }
  for (const std::string& line : lines) say(line);
}

}  // namespace rondo::tools::run
