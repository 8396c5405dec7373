#pragma once
/// What rank 0 prints: a table, CSV or JSON, with the same content.

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/options.hpp"

namespace rondo::tools::bench {

/// One line of the result.
struct Row {
  std::string test;
  bool in_place = false;
  std::size_t bytes = 0;
  std::size_t count = 0;
  DType dtype = DType::float32;
  std::optional<ReduceOp> op;
  std::optional<int> root;
  Timing timing;     ///< seconds per operation
  double algbw = 0;  ///< bytes per second
  double busbw = 0;
  std::optional<std::size_t> wrong;  ///< over all ranks; nothing: not checked
  std::string backend;
  std::optional<double> ratio;  ///< median / that of the first backend
  std::optional<double> floor;  ///< seconds
};

/// The columns that follow from the others: bandwidths from the median.
void set_bandwidths(Row& row, BenchVerb verb, int ranks);

struct Ending {
  bool interrupted = false;
  std::string error;  ///< what ended the bench; empty: nothing
  bool checked = true;
  std::size_t wrong = 0;
  std::optional<double> trip;  ///< between two cores, at the end
};

/// Which columns have something to say.
struct Columns {
  bool backends = false;  ///< more than one
  bool floors = false;
};

/// Rows appear as they come, but in JSON, which is one document at the end.
class Report {
 public:
  virtual ~Report() = default;
  /// Facts of the run, in order: names and values (text, numbers, or an object of those).
  virtual void begin(const nlohmann::ordered_json& header) = 0;
  virtual void row(const Row& row) = 0;
  virtual void end(const Ending& ending) = 0;
};
std::unique_ptr<Report> make_report(Format format, Columns columns, std::ostream& out);

/// Keeps the JSON document.
class DocumentReport : public Report {
 public:
  void begin(const nlohmann::ordered_json& header) override;
  void row(const Row& row) override;
  void end(const Ending& ending) override;
  const nlohmann::ordered_json& document() const noexcept { return document_; }

 private:
  nlohmann::ordered_json document_;
};

}  // namespace rondo::tools::bench
