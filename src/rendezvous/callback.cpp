#include "rendezvous/callback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "base/problem.hpp"
#include "net/quote.hpp"

namespace rondo::rendezvous {

namespace {

using base::Problem;

class OverCallback final : public Rendezvous {
 public:
  OverCallback(int rank, int size, Callback exchange)
      : rank_(rank), size_(size), exchange_(std::move(exchange)) {}

  std::vector<Blob> exchange(const Blob& mine, base::Deadline& deadline) override {
    (void)deadline.end();  // the clock runs while the others do
    ++number_;
    std::vector<Blob> all = exchange_(fmt::format("{}{} bytes\n{}", head(rank_), mine.size(), mine));
    if (all.size() != static_cast<std::size_t>(size_)) {
      throw Problem(ErrorKind::invalid_argument, -1,
                    fmt::format("exchange {} returned {} blobs, expected {}, one of every rank", number_,
                                all.size(), size_));
    }
    if (deadline.expired()) {
      throw Problem(ErrorKind::timed_out, -1,
                    fmt::format("exchange {} took {:.1f} s, more than the limit of set-up", number_,
                                std::chrono::duration<double>(deadline.elapsed()).count()));
    }
    for (int rank = 0; rank < size_; ++rank) open(rank, all[static_cast<std::size_t>(rank)]);
    return all;
  }

 private:
  std::string head(int rank) const {
    return fmt::format("rondo exchange {}, rank {} of {}, ", number_, rank, size_);
  }
  void open(int rank, Blob& blob) const;

  int rank_;
  int size_;
  Callback exchange_;
  int number_ = 0;
};

// Takes the head off.
void OverCallback::open(int rank, Blob& blob) const {
  constexpr std::size_t shown = 60;
  const std::string expected = head(rank);
  const std::string_view rest = std::string_view(blob).substr(std::min(expected.size(), blob.size()));
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
  const std::string_view bytes = rest.substr(static_cast<std::size_t>(end - rest.data()));
  constexpr std::string_view unit = " bytes\n";
  if (!blob.starts_with(expected) || error != std::errc() || !bytes.starts_with(unit)) {
    throw Problem(ErrorKind::invalid_argument, rank,
                  fmt::format("exchange {}: blob {} begins with {}, expected {}", number_, rank,
                              net::quote(blob.substr(0, std::min(blob.find('\n'), shown))),
                              net::quote(expected + "N bytes")));
  }
  if (bytes.size() - unit.size() != length) {
    throw Problem(ErrorKind::invalid_argument, rank,
                  fmt::format("exchange {}: blob {} came with {} bytes after its first line, expected {}",
                              number_, rank, bytes.size() - unit.size(), length));
  }
  blob.erase(0, blob.size() - length);
}

}  // namespace

std::unique_ptr<Rendezvous> join_callback(int rank, int size, Callback exchange) {
  RONDO_INVARIANT(rank >= 0 && rank < size && exchange);
  return std::make_unique<OverCallback>(rank, size, std::move(exchange));
}

}  // namespace rondo::rendezvous
