#include "transport/words.hpp"

#include <fmt/format.h>

namespace rondo::transport {

base::Problem problem_of(const Transport& transport) {
  const Failure cause = *transport.failure();
  return base::Problem(cause.kind, cause.rank, cause.text);
}

std::string timed_out(const base::Deadline& deadline, const std::string& waiting_for) {
  return fmt::format("timed out after {} (limit {}) waiting for {}", milliseconds(deadline.elapsed()),
                     milliseconds(deadline.limit()), waiting_for);
}

std::string list_ranks(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

std::string milliseconds(base::Duration duration) {
  const double value = std::chrono::duration<double, std::milli>(duration).count();
  return value == static_cast<double>(static_cast<long long>(value)) ? fmt::format("{:.0f} ms", value)
                                                                     : fmt::format("{:.1f} ms", value);
}

}  // namespace rondo::transport
