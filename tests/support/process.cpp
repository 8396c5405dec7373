#include "support/process.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <netdb.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rondo::test {

namespace fs = std::filesystem;

std::vector<Backend> process_backends() {
  std::vector<Backend> all{Backend::tcp};
  if (is_available(Backend::shm)) all.push_back(Backend::shm);
  return all;
}

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// ---- Board -----------------------------------------------------------------------------------------------

struct Board::Shared {
  std::array<std::atomic<std::uint32_t>, 32> flags{};
  std::array<std::atomic<std::int64_t>, 64> values{};
};

Board::Board() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
  shared_ = new (memory) Shared;
}
Board::~Board() { munmap(shared_, sizeof(Shared)); }

void Board::raise(int flag) const {
  auto& word = shared_->flags.at(static_cast<std::size_t>(flag));
  word.fetch_add(1);
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}
std::uint32_t Board::count(int flag) const { return shared_->flags.at(static_cast<std::size_t>(flag)); }
void Board::await(int flag, std::uint32_t times) const {
  auto& word = shared_->flags.at(static_cast<std::size_t>(flag));
  constexpr std::int64_t longest_ms = 40'000;
  const std::int64_t begin = now_ns();
  for (std::uint32_t seen = word; seen < times; seen = word) {
    constexpr timespec a_second{1, 0};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &a_second, nullptr, 0);
    if (ms_since(begin) > longest_ms) {
      throw std::runtime_error(fmt::format("flag {} was raised {} times, not {}", flag, seen, times));
    }
  }
}
std::atomic<std::int64_t>& Board::value(int slot) const {
  return shared_->values.at(static_cast<std::size_t>(slot));
}

void unmet(const char* file, int line, const std::string& what) {
  throw std::logic_error(fmt::format("{}:{}: not so: {}", file, line, what));
}

Error thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("no error where one is due");
}

// ---- Job -------------------------------------------------------------------------------------------------

namespace {

constexpr int threw = 4;
constexpr unsigned longest_life = 100;  // seconds; a hang ends the process, and the test says so

std::string text_of(int file) {
  std::string text;
  char piece[4096];
  for (ssize_t got = 0; (got = pread(file, piece, sizeof(piece), static_cast<off_t>(text.size()))) > 0;) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Job::Job(int size, Backend backend, Environment environment)
    : size_(size), environment_(std::move(environment)), processes_(static_cast<std::size_t>(size)) {
  folder_ = (fs::temp_directory_path() / "rondo-job-XXXXXX").string();
  EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  environment_.try_emplace("RONDO_RENDEZVOUS", "file:" + folder_);
  environment_.try_emplace("RONDO_BACKEND", std::string(to_string(backend)));
  environment_.try_emplace("RONDO_TIMEOUT", "60");
  environment_.try_emplace("RONDO_INIT_TIMEOUT", "60");
}

Job::~Job() {
  for (const Process& each : processes_) {
    if (each.pid > 0) kill(each.pid, SIGKILL);
  }
  for (const Process& each : processes_) {
    if (each.pid > 0) waitpid(each.pid, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Job::start_process(int rank, const ProcessMain& process_main) {
  Process& process = processes_.at(static_cast<std::size_t>(rank));
  process.words = base::Fd(memfd_create("words", MFD_CLOEXEC));
  const pid_t parent = getpid();
  process.pid = fork();
  ASSERT_GE(process.pid, 0);
  if (process.pid > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(threw);
  run(rank, process_main);
}

void Job::run(int rank, const ProcessMain& process_main) const {
  dup2(processes_[static_cast<std::size_t>(rank)].words.get(), STDERR_FILENO);
  alarm(longest_life);
  setenv("RONDO_RANK", std::to_string(rank).c_str(), 1);
  setenv("RONDO_SIZE", std::to_string(size_).c_str(), 1);
  for (const auto& [name, value] : environment_) setenv(name.c_str(), value.c_str(), 1);
  try {
    process_main(rank);
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {} ends by: {}\n", rank, error.what());
    _exit(threw);
  }
  _exit(right);
}

void Job::start(int rank, const RankMain& rank_main) {
  start_process(rank, [&rank_main](int) {
    const Group group = init(true);
    rank_main(group);
    group.shutdown();
  });
}

void Job::start_all(const RankMain& rank_main) {
  for (int rank = 0; rank < size_; ++rank) start(rank, rank_main);
}

void Job::start_processes(const ProcessMain& process_main) {
  for (int rank = 0; rank < size_; ++rank) start_process(rank, process_main);
}

void Job::signal(int rank, int number) const { EXPECT_EQ(kill(pid(rank), number), 0); }

bool Job::ended(int rank) const {
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid(rank)), &info, WEXITED | WNOHANG | WNOWAIT), 0);
  return info.si_pid != 0;
}

int Job::wait(int rank) {
  Process& process = processes_.at(static_cast<std::size_t>(rank));
  int status = 0;
  EXPECT_EQ(waitpid(process.pid, &status, 0), process.pid);
  process.pid = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string Job::words(int rank) const {
  const base::Fd& file = processes_.at(static_cast<std::size_t>(rank)).words;
  return file ? text_of(file.get()) : "";
}

void Job::expect_right(std::vector<int> ranks) {
  if (ranks.empty()) {
    for (int rank = 0; rank < size_; ++rank) {
      if (pid(rank) > 0) ranks.push_back(rank);
    }
  }
  for (const int rank : ranks) EXPECT_EQ(wait(rank), right) << "rank " << rank << "\n" << words(rank);
}

void Job::expect_clean() const {
  for (const auto& entry : fs::directory_iterator(folder_)) ADD_FAILURE() << entry.path() << " is left";
}

// ---- what is left, who listens, what is used --------------------------------------------------------------

std::set<std::string> Leftovers::list() {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/dev/shm", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find("rondo") != std::string::npos) names.insert(name);
  }
  return names;
}

void Leftovers::expect_none() const {
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  EXPECT_EQ(errno, ECHILD);
  // Other tests may run beside this one: what they use does not stay.
  std::set<std::string> staying = list();
  const bool none = comes_true([&] {
    const std::set<std::string> now = list();
    std::erase_if(staying, [&](const auto& name) { return before_.contains(name) || !now.contains(name); });
    return staying.empty();
  });
  if (!none) ADD_FAILURE() << "left in /dev/shm: " << *staying.begin();
}

HeldPort::HeldPort(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "0", &hints, &found) != 0) throw std::runtime_error("no address: " + host);
  socket_ = base::Fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_storage bound{};
  socklen_t length = found->ai_addrlen;
  if (bind(socket_.get(), found->ai_addr, length) != 0) throw std::runtime_error("cannot bind " + host);
  freeaddrinfo(found);
  length = sizeof(bound);
  getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  // The port lies at the same place in both families.
  const int port = ntohs(reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  place_ = fmt::format(fmt::runtime(bound.ss_family == AF_INET6 ? "[{}]:{}" : "{}:{}"), host, port);
}

namespace {

// "0100007F:9C4B" as the kernel prints it: words of the address as numbers of this machine, then the port.
std::string address_text(const std::string& hex) {
  const std::size_t colon = hex.find(':');
  const auto port = std::stoul(hex.substr(colon + 1), nullptr, 16);
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; 8 * i < colon; ++i) {
    words.at(i) = static_cast<std::uint32_t>(std::stoul(hex.substr(8 * i, 8), nullptr, 16));
  }
  char text[INET6_ADDRSTRLEN] = "";
  const bool six = colon > 8;
  inet_ntop(six ? AF_INET6 : AF_INET, words.data(), text, sizeof(text));
  return fmt::format(fmt::runtime(six ? "[{}]:{}" : "{}:{}"), text, port);
}

}  // namespace

std::set<std::string> listening(pid_t process) {
  const std::string folder = fmt::format("/proc/{}", process);
  std::set<std::string> sockets;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder + "/fd", ignored)) {
    sockets.insert(fs::read_symlink(entry.path(), ignored).string());
  }
  std::set<std::string> places;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream lines(folder + table);
    std::string line;
    std::getline(lines, line);  // the headings
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      constexpr std::string_view listens = "0A";
      if (state == listens && sockets.contains(fmt::format("socket:[{}]", inode)))
        places.insert(address_text(local));
    }
  }
  return places;
}

Footprint footprint() {
  const auto entries = [](const char* folder) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
    return count;
  };
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return {entries("/proc/self/fd"), entries("/proc/self/task"),
          resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))};
}

bool comes_true(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const std::int64_t begin = now_ns();
  while (!condition()) {
    if (ms_since(begin) > limit.count()) return false;
    usleep(500);
  }
  return true;
}

}  // namespace rondo::test
