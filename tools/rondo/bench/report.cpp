#include "bench/report.hpp"

#include <fmt/format.h>

#include <ostream>

#include "bench/facts.hpp"
#include "bench/floor.hpp"

namespace rondo::tools::bench {

namespace {

using Json = nlohmann::ordered_json;

constexpr double micro = 1e6;
constexpr double giga = 1e9;

std::string op_text(const Row& row) { return row.op ? std::string(to_string(*row.op)) : "-"; }
std::string root_text(const Row& row) { return row.root ? std::to_string(*row.root) : "-"; }
std::string wrong_text(const Row& row) { return row.wrong ? std::to_string(*row.wrong) : "-"; }
std::string_view place_text(const Row& row) { return row.in_place ? "in" : "out"; }

std::string ending_text(const Ending& ending) {
  std::string text = !ending.checked     ? "not checked"
                     : ending.wrong == 0 ? "wrong elements: 0, OK"
                                         : fmt::format("wrong elements: {}, FAILED", ending.wrong);
  if (ending.interrupted) text += "; interrupted";
  if (!ending.error.empty()) text += "; ended by an error: " + ending.error;
  return text;
}

class TableReport : public Report {
 public:
  TableReport(Columns columns, std::ostream& out) : columns_(columns), out_(out) {}

  void begin(const Json& header) override {
    out_ << header_text(header);
    out_.flush();
  }
  void row(const Row& row) override {
    if (row.test != test_) print_titles(row.test);
    const auto time = [](double seconds) {
      const double us = seconds * micro;
      return us < 1000 ? fmt::format("{:.3f}", us) : fmt::format("{:.1f}", us);
    };
    const auto rate = [](double bytes) { return fmt::format("{:.4f}", bytes / giga); };
    out_ << fmt::format(line, row.bytes, row.count, to_string(row.dtype), op_text(row), root_text(row),
                        place_text(row), time(row.timing.min), time(row.timing.median), time(row.timing.p99),
                        rate(row.algbw), rate(row.busbw), row.timing.slowest(), wrong_text(row));
    if (columns_.floors) {
      out_ << fmt::format(floor_line, row.floor ? time(*row.floor) : "-",
                          row.floor ? fmt::format("{:.2f}", row.timing.median / *row.floor) : "-");
    }
    if (columns_.backends)
      out_ << fmt::format(backend_line, row.backend, row.ratio ? fmt::format("{:.3f}", *row.ratio) : "1");
    out_ << "\n";
    out_.flush();
  }
  void end(const Ending& ending) override {
    if (ending.trip) out_ << fmt::format("# cores at the end: {}\n", trip_text(ending.trip));
    out_ << "# " << ending_text(ending) << "\n" << std::flush;
  }

 private:
  void print_titles(const std::string& test) {
    test_ = test;
    out_ << fmt::format("#\n# {}\n# ", test);
    out_ << fmt::format(title, "size(B)", "count", "type", "redop", "root", "place", "min(us)", "median(us)",
                        "p99(us)", "algbw(GB/s)", "busbw(GB/s)", "slow", "#wrong");
    if (columns_.floors) out_ << fmt::format(floor_line, "floor(us)", "xfloor");
    if (columns_.backends) out_ << fmt::format(backend_line, "backend", "ratio");
    out_ << "\n";
  }

  static constexpr auto title =
      "{:>10} {:>12} {:>11} {:>11} {:>4} {:>5} {:>11} {:>11} {:>11} {:>11} {:>11} {:>4} {:>7}";
  static constexpr auto line =
      "{:>12} {:>12} {:>11} {:>11} {:>4} {:>5} {:>11} {:>11} {:>11} {:>11} {:>11} {:>4} {:>7}";
  static constexpr auto floor_line = " {:>11} {:>7}";
  static constexpr auto backend_line = " {:>8} {:>7}";

  Columns columns_;
  std::ostream& out_;
  std::string test_;
};

/// All columns always: programs read it.
class CsvReport : public Report {
 public:
  explicit CsvReport(std::ostream& out) : out_(out) {}

  void begin(const Json& header) override {
    out_ << header_text(header)
         << "test,size,count,type,redop,root,place,min_us,median_us,p99_us,algbw_GBps,busbw_GBps,wrong,"
            "samples,batch,slow_rank,floor_us,backend,ratio\n"
         << std::flush;
  }
  void row(const Row& row) override {
    out_ << fmt::format("{},{},{},{},{},{},{},{:.4f},{:.4f},{:.4f},{:.6f},{:.6f},{},{},{},{},{},{},{}\n",
                        row.test, row.bytes, row.count, to_string(row.dtype), op_text(row), root_text(row),
                        place_text(row), row.timing.min * micro, row.timing.median * micro,
                        row.timing.p99 * micro, row.algbw / giga, row.busbw / giga, wrong_text(row),
                        row.timing.samples, row.timing.batch, row.timing.slowest(),
                        row.floor ? fmt::format("{:.4f}", *row.floor * micro) : "-", row.backend,
                        row.ratio ? fmt::format("{:.4f}", *row.ratio) : "-")
         << std::flush;
  }
  void end(const Ending& ending) override {
    if (ending.trip) out_ << fmt::format("# cores at the end: {}\n", trip_text(ending.trip));
    out_ << "# " << ending_text(ending) << "\n" << std::flush;
  }

 private:
  std::ostream& out_;
};

class JsonReport : public DocumentReport {
 public:
  explicit JsonReport(std::ostream& out) : out_(out) {}

  void end(const Ending& ending) override {
    DocumentReport::end(ending);
    out_ << document().dump(2, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
  }

 private:
  std::ostream& out_;
};

}  // namespace

void DocumentReport::begin(const Json& header) {
  document_["header"] = header;
  document_["rows"] = Json::array();
}

void DocumentReport::row(const Row& row) {
  Json each;
  each["test"] = row.test;
  each["size"] = row.bytes;
  each["count"] = row.count;
  each["type"] = to_string(row.dtype);
  each["redop"] = row.op ? Json(to_string(*row.op)) : Json();
  each["root"] = row.root ? Json(*row.root) : Json();
  each["place"] = place_text(row);
  each["min_us"] = row.timing.min * micro;
  each["median_us"] = row.timing.median * micro;
  each["p99_us"] = row.timing.p99 * micro;
  each["algbw_GBps"] = row.algbw / giga;
  each["busbw_GBps"] = row.busbw / giga;
  each["wrong"] = row.wrong ? Json(*row.wrong) : Json();
  each["samples"] = row.timing.samples;
  each["batch"] = row.timing.batch;
  each["slow_rank"] = row.timing.slowest();
  each["rank_median_us"] = Json::array();
  for (const double median : row.timing.rank_medians) each["rank_median_us"].push_back(median * micro);
  each["floor_us"] = row.floor ? Json(*row.floor * micro) : Json();
  each["backend"] = row.backend;
  each["ratio"] = row.ratio ? Json(*row.ratio) : Json();
  document_["rows"].push_back(std::move(each));
}

void DocumentReport::end(const Ending& ending) {
  document_["cores at the end"] = trip_text(ending.trip);
  document_["wrong"] = ending.checked ? Json(ending.wrong) : Json();
  document_["interrupted"] = ending.interrupted;
  document_["error"] = ending.error.empty() ? Json() : Json(ending.error);
}

void set_bandwidths(Row& row, BenchVerb verb, int ranks) {
  const double seconds = row.timing.median;
  row.algbw = seconds > 0 ? static_cast<double>(row.bytes) / seconds : 0;
  row.busbw = row.algbw * bus_factor(verb, ranks);
}

std::unique_ptr<Report> make_report(Format format, Columns columns, std::ostream& out) {
  switch (format) {
    case Format::table:
      return std::make_unique<TableReport>(columns, out);
    case Format::csv:
      return std::make_unique<CsvReport>(out);
    case Format::json:
      return std::make_unique<JsonReport>(out);
  }
  return nullptr;
}

}  // namespace rondo::tools::bench
