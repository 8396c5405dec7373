#include "bench/drawing.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "base/fd.hpp"
#include "bench/figure.hpp"

namespace rondo::tools::bench {

namespace {

using Json = nlohmann::ordered_json;

// Opens without changing anything: what is there is replaced when there is something to replace it by.
void must_be_writable(const char* option, const std::string& path) {
  if (path.empty()) return;
  const std::ofstream file(path, std::ios::app);
  if (!file) {
    throw std::invalid_argument(
        fmt::format("{} {}: cannot be written: {}", option, path, base::error_words(errno)));
  }
}

void check_files(const BenchOptions& options) {
  must_be_writable("--html", options.html);
  must_be_writable("--svg", options.svg);
}

void write(const char* option, const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text << std::flush;
  if (!file)
    throw std::runtime_error(
        fmt::format("{} {}: could not be written: {}", option, path, base::error_words(errno)));
}

void draw(const Json& document, const BenchOptions& options) {
  if (!options.html.empty()) write("--html", options.html, html_of(document));
  if (!options.svg.empty()) write("--svg", options.svg, svg_of(figure_of(document)));
}

class DrawnReport final : public Report {
 public:
  DrawnReport(std::unique_ptr<Report> report, const BenchOptions& options)
      : report_(std::move(report)), options_(options) {
    check_files(options_);
  }

  void begin(const Json& header) override {
    report_->begin(header);
    document_.begin(header);
  }
  void row(const Row& row) override {
    report_->row(row);
    document_.row(row);
  }
  void end(const Ending& ending) override {
    report_->end(ending);
    document_.end(ending);
    // Ended before the first row: there is nothing to draw.
    if (!document_.document().at("rows").empty()) draw(document_.document(), options_);
  }

 private:
  std::unique_ptr<Report> report_;
  BenchOptions options_;
  DocumentReport document_;
};

}  // namespace

std::unique_ptr<Report> drawn(std::unique_ptr<Report> report, const BenchOptions& options) {
  if (options.html.empty() && options.svg.empty()) return report;
  return std::make_unique<DrawnReport>(std::move(report), options);
}

int draw_from(const BenchOptions& options) {
  if (!options.tests.empty())
    throw std::invalid_argument(
        fmt::format("--from measures nothing, but a test is given: {}", options.tests.front()));
  if (options.html.empty() && options.svg.empty())
    throw std::invalid_argument("--from needs --html FILE or --svg FILE");
  std::ifstream file(options.from);
  if (!file) {
    throw std::invalid_argument(
        fmt::format("--from {}: cannot be read: {}", options.from, base::error_words(errno)));
  }
  check_files(options);
  try {
    draw(Json::parse(file), options);
  } catch (const Json::parse_error& error) {
    throw std::invalid_argument(fmt::format(
        "--from {}: no JSON at byte {}: expected what rondo bench --json writes", options.from, error.byte));
  } catch (const Json::out_of_range&) {
    throw std::invalid_argument(fmt::format("--from {}: a number in it is out of range", options.from));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--from {}: {}", options.from, error.what()));
  }
  return 0;
}

}  // namespace rondo::tools::bench
