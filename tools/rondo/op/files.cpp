#include "op/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace rondo::tools::op {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& text) {
  throw std::runtime_error(fmt::format("{}: {}", path, text));
}

// Components are what must lie at whole multiples: half of a complex element.
std::size_t alignment_of(DType dtype) { return std::min<std::size_t>(size_of(dtype), alignof(double)); }

// The file behind a symbolic link, so that the link stays; what is there must be a file, if there is one.
std::string target_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) refuse(path, "is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse(path, "is no regular file");
  fs::path target(path);
  constexpr int most_links = 40;  // as in the kernel
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == most_links) refuse(path, base::error_words(ELOOP));
    const fs::path next = fs::read_symlink(target, error);
    if (error) refuse(path, error.message());
    target = target.parent_path() / next;
  }
  return target.string();
}

// What the words of the system leave open: which part of the path it is.
std::string why_not_made(const std::string& path, int cause) {
  const std::string folder = fs::path(path).parent_path().string();
  std::error_code error;
  if (cause == ENOENT && !folder.empty() && !fs::exists(folder, error))
    return fmt::format("cannot be made, there is no folder {}", folder);
  if (cause == ENOTDIR) return fmt::format("cannot be made, {} is no folder", folder);
  return "cannot be made";
}

}  // namespace

Mapping::Mapping(const base::Fd& file, const std::string& path, std::size_t size, int protection, int flags) {
  void* const at = mmap(nullptr, size, protection, flags, file.get(), 0);
  if (at == MAP_FAILED) refuse(path, "cannot be mapped: " + base::error_words(errno));
  bytes_ = {static_cast<std::byte*>(at), size};
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

void Mapping::release(std::size_t from, std::size_t count) const noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = from / page * page;  // whole pages: who needs a neighbour gets it back
  const std::size_t end = std::min(from + count, bytes_.size());
  if (begin < end) madvise(bytes_.data() + begin, end - begin, MADV_DONTNEED);  // only advice: it may fail
}

Input::Input(const std::string& path) {
  // Without O_NONBLOCK, a pipe would be waited for before it can be refused.
  const base::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) refuse(path, base::error_words(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) refuse(path, base::error_words(errno));
  if (S_ISDIR(status.st_mode)) refuse(path, "is a folder");
  if (!S_ISREG(status.st_mode)) refuse(path, "is no regular file, which can be mapped");
  if (status.st_size == 0) refuse(path, "is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  mapping_ = Mapping(file, path, size, PROT_READ, MAP_PRIVATE);
  try {
    header_ = parse_npy(mapping_.bytes());
  } catch (const std::runtime_error& error) {
    refuse(path, error.what());
  }
  const std::size_t promised = byte_size(header_.dtype, header_.shape);
  if (size - header_.offset != promised) {
    refuse(path,
           fmt::format("it has {} bytes of elements, its header promises {} ({} {})", size - header_.offset,
                       promised, to_string(header_.dtype), rondo::to_string(header_.shape)));
  }
  if (header_.offset % alignment_of(header_.dtype) != 0) {
    refuse(path, fmt::format("its elements begin at byte {}, expected a multiple of {}, as the format asks",
                             header_.offset, alignment_of(header_.dtype)));
  }
  madvise(mapping_.bytes().data(), size, MADV_SEQUENTIAL);  // only advice: it may fail
}

Output::Output(Temporaries& temporaries, std::string path, DType dtype, const Shape& shape)
    : temporaries_(temporaries), path_(target_of(path)) {
  const std::string header = make_npy_header(dtype, shape);
  offset_ = header.size();
  const std::size_t elements = byte_size(dtype, shape);
  if (elements > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - offset_)
    fail(fmt::format("{} bytes are asked for", elements), EFBIG);
  make_file();
  try {
    reserve(offset_ + elements);
    mapping_ = Mapping(file_, path_, offset_ + elements, PROT_READ | PROT_WRITE, MAP_SHARED);
  } catch (...) {
    temporaries_.remove(temporary_);
    throw;
  }
  std::memcpy(mapping_.bytes().data(), header.data(), header.size());
}

Output::~Output() { temporaries_.remove(temporary_); }

void Output::fail(const std::string& what, int cause) const {
  refuse(path_, fmt::format("{}: {}", what, base::error_words(cause)));
}

// O_EXCL and another number each time: no file of somebody else is touched, not even one that a killed
// process with the same number left.
void Output::make_file() {
  for (int attempt = 0;; ++attempt) {
    temporary_ = fmt::format("{}.partial-{}-{}", path_, getpid(), attempt);
    file_ = temporaries_.create(temporary_);
    if (file_) return;
    constexpr int most_attempts = 1000;
    if (errno == EEXIST && attempt < most_attempts) continue;
    const int cause = errno;
    fail(why_not_made(path_, cause), cause);
  }
}

// Space that is reserved cannot run out later, when writing through the mapping would end the process.
void Output::reserve(std::size_t size) const {
  int cause = EINTR;
  while (cause == EINTR) cause = posix_fallocate(file_.get(), 0, static_cast<off_t>(size));
  if (cause != 0) fail(fmt::format("no room for {} bytes", size), cause);
}

void Output::sync() const {
  if (msync(mapping_.bytes().data(), mapping_.bytes().size(), MS_SYNC) != 0 || fsync(file_.get()) != 0)
    fail("cannot be written to the disk", errno);
}

void Output::commit() {
  if (!temporaries_.rename(temporary_, path_)) fail("cannot take its name", errno);
  const std::string folder = fs::path(path_).parent_path().string();
  const base::Fd at(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // The name is there; that it also survives a power cut is best effort, which some file systems refuse.
  if (at) fsync(at.get());
}

}  // namespace rondo::tools::op
