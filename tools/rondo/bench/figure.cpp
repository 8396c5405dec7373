#include "bench/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace rondo::tools::bench {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

const Json& member(const Json& object, const std::string& where, const char* name) {
  const auto at = object.find(name);
  if (at == object.end()) refuse(fmt::format("{} has no \"{}\"", where, name));
  return *at;
}

double number_in(const Json& object, const std::string& where, const char* name) {
  const Json& value = member(object, where, name);
  if (!value.is_number())
    refuse(fmt::format("{}: \"{}\" is {}, expected a number", where, name, value.dump()));
  const double number = value.get<double>();
  if (!std::isfinite(number) || number < 0)
    refuse(fmt::format("{}: \"{}\" is {}, expected a number of at least 0", where, name, value.dump()));
  return number;
}

std::string text_in(const Json& object, const std::string& where, const char* name) {
  const Json& value = member(object, where, name);
  if (!value.is_string()) refuse(fmt::format("{}: \"{}\" is {}, expected a text", where, name, value.dump()));
  return value.get<std::string>();
}

std::vector<std::string> facts_in(const Json& document) {
  const Json& header = member(document, "the document", "header");
  if (!header.is_object()) refuse("\"header\" of the document is no object");
  std::vector<std::string> facts;
  for (const char* const name :
       {"system", "processor", "cores", "backend", "ranks", "memory", "mode", "settings"}) {
    const auto at = header.find(name);
    if (at == header.end() || at->is_null()) continue;
    std::string text = at->is_string() ? at->get<std::string>() : at->dump();
    if (at->is_object()) {
      text.clear();
      for (const auto& [inner, word] : at->items())
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", inner,
                            word.is_string() ? word.get<std::string>() : word.dump());
      if (text.empty()) text = "defaults";
    }
    facts.push_back(fmt::format("{}: {}", name, text));
  }
  return facts;
}

template <class List, class Is>
auto& find_or_add(List& list, Is is) {
  const auto at = std::find_if(list.begin(), list.end(), is);
  return at != list.end() ? *at : list.emplace_back();
}

}  // namespace

Figure figure_of(const Json& document) {
  if (!document.is_object()) refuse("the document is no object");
  Figure figure;
  figure.facts = facts_in(document);
  const Json& rows = member(document, "the document", "rows");
  if (!rows.is_array()) refuse("\"rows\" of the document is no list");
  std::size_t index = 0;
  for (const Json& row : rows) {
    const std::string where = fmt::format("row {}", ++index);
    if (!row.is_object()) refuse(where + " is no object");
    const std::string name = text_in(row, where, "test");
    const std::string backend = text_in(row, where, "backend");
    const std::string place = text_in(row, where, "place");
    if (place != "in" && place != "out")
      refuse(fmt::format("{}: \"place\" is \"{}\", expected in or out", where, place));
    FigureTest& test = find_or_add(figure.tests, [&](const FigureTest& each) { return each.name == name; });
    test.name = name;
    FigureLine& line = find_or_add(test.lines, [&](const FigureLine& each) {
      return each.backend == backend && each.in_place == (place == "in");
    });
    line.backend = backend;
    line.in_place = place == "in";
    const FigurePoint point{number_in(row, where, "size"), number_in(row, where, "median_us"),
                            number_in(row, where, "busbw_GBps")};
    line.points.push_back(point);
    const auto floor = row.find("floor_us");
    if (floor == row.end() || floor->is_null()) continue;
    const double micros = number_in(row, where, "floor_us");
    if (micros > 0) line.floor.push_back({point.bytes, micros, point.busbw * point.micros / micros});
  }
  if (figure.tests.empty()) refuse("the document has no rows");
  return figure;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

namespace {

// ---- what is drawn, in pixels ----------------------------------------------------------------------------

constexpr double panel_width = 470;
constexpr double panel_height = 300;
constexpr double left = 62;
constexpr double right = 18;
constexpr double top = 34;
constexpr double bottom = 46;
constexpr double border = 16;
constexpr double fact_height = 17;
constexpr double letter = 6.6;  // a letter of the legend, about

// Told apart by most colour-blind people too (Okabe and Ito); the second is for dark pages.
constexpr std::array<std::pair<const char*, const char*>, 6> colours{{{"#0072b2", "#56b4e9"},
                                                                      {"#d55e00", "#ff9f5a"},
                                                                      {"#009e73", "#2fd6a8"},
                                                                      {"#b0478f", "#e39bc9"},
                                                                      {"#8a6d00", "#f0e442"},
                                                                      {"#444444", "#cccccc"}}};

std::string style() {
  std::string text =
      "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px;fill:#222}"
      ".page{fill:#ffffff}.title{font-size:15px;font-weight:600}.fact{fill:#666}.name{font-size:13px;font-"
      "weight:600}"
      ".grid{stroke:#e4e4e4;stroke-width:1}.axis{stroke:#888;stroke-width:1;fill:none}"
      ".line{fill:none;stroke-width:2;stroke-linejoin:round}.in{stroke-dasharray:2 4;stroke-linecap:round}"
      ".floor{fill:none;stroke-width:1.5;stroke-dasharray:7 4;opacity:.55}.any{stroke:#999}";
  std::string dark =
      "text{fill:#e6e6e6}.page{fill:#17191c}.fact{fill:#a5a5a5}.grid{stroke:#2e3136}.axis{stroke:#7d8087}";
  for (std::size_t i = 0; i < colours.size(); ++i) {
    text += fmt::format(".s{0}{{stroke:{1}}}.d{0}{{fill:{1}}}", i, colours[i].first);
    dark += fmt::format(".s{0}{{stroke:{1}}}.d{0}{{fill:{1}}}", i, colours[i].second);
  }
  return text + "@media(prefers-color-scheme:dark){" + dark + "}";
}

std::string size_text(double bytes) {
  constexpr std::array<const char*, 5> units{"", "K", "M", "G", "T"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g}{}", bytes, units[unit]);
}

std::string value_text(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

struct Span {
  double least = 0;
  double most = 0;
};

// A logarithmic axis.
class Axis {
 public:
  Axis(Span values, double from, double to) noexcept : values_(values), from_(from), to_(to) {}
  double at(double value) const noexcept {
    const double part = values_.most > values_.least
                            ? std::log(value / values_.least) / std::log(values_.most / values_.least)
                            : 0.5;
    return from_ + part * (to_ - from_);
  }
  const Span& values() const noexcept { return values_; }

 private:
  Span values_;
  double from_;
  double to_;
};

enum class Quantity : std::uint8_t { time, rate };

double value_of(const FigurePoint& point, Quantity quantity) {
  return quantity == Quantity::time ? point.micros : point.busbw;
}
bool drawable(const FigurePoint& point, Quantity quantity) {
  return point.bytes > 0 && value_of(point, quantity) > 0;
}

template <class Action>
void each_point(const FigureTest& test, Quantity quantity, Action&& action) {
  for (const FigureLine& line : test.lines) {
    for (const auto* const points : {&line.points, &line.floor}) {
      for (const FigurePoint& point : *points) {
        if (drawable(point, quantity)) action(point);
      }
    }
  }
}

bool has_panel(const FigureTest& test, Quantity quantity) {
  bool any = false;
  each_point(test, quantity, [&](const FigurePoint&) { any = true; });
  return any;
}

Span span_of_sizes(const FigureTest& test, Quantity quantity) {
  Span span;
  each_point(test, quantity, [&](const FigurePoint& point) {
    span.least = span.least == 0 ? point.bytes : std::min(span.least, point.bytes);
    span.most = std::max(span.most, point.bytes);
  });
  return span;
}

// Whole powers of ten around all values.
Span span_of_values(const FigureTest& test, Quantity quantity) {
  Span span;
  each_point(test, quantity, [&](const FigurePoint& point) {
    const double value = value_of(point, quantity);
    span.least = span.least == 0 ? value : std::min(span.least, value);
    span.most = std::max(span.most, value);
  });
  span.least = std::pow(10, std::floor(std::log10(span.least)));
  span.most = std::pow(10, std::ceil(std::log10(span.most)));
  if (span.most <= span.least) span.most = span.least * 10;
  return span;
}

/// Backends in the order of their first line; they keep their colour in all panels.
std::vector<std::string> backends_of(const Figure& figure) {
  std::vector<std::string> names;
  for (const FigureTest& test : figure.tests) {
    for (const FigureLine& line : test.lines) {
      if (std::find(names.begin(), names.end(), line.backend) == names.end()) names.push_back(line.backend);
    }
  }
  return names;
}

std::size_t colour_of(const std::vector<std::string>& backends, const std::string& name) {
  const auto at = std::find(backends.begin(), backends.end(), name);
  return static_cast<std::size_t>(at - backends.begin()) % colours.size();
}

std::string text_at(double x, double y, const std::string& text, const char* attributes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes, escaped(text));
}

class Panel {
 public:
  Panel(const FigureTest& test, Quantity quantity, const std::vector<std::string>& backends, double x,
        double y)
      : test_(test),
        quantity_(quantity),
        backends_(backends),
        x0_(x),
        y0_(y),
        sizes_(span_of_sizes(test, quantity), x + left, x + panel_width - right),
        values_(span_of_values(test, quantity), y + panel_height - bottom, y + top) {}

  std::string svg() const {
    std::string out = fmt::format("<g data-test=\"{}\" data-quantity=\"{}\">\n", escaped(test_.name),
                                  quantity_ == Quantity::time ? "time" : "busbw");
    out += frame();
    for (const FigureLine& line : test_.lines) {
      if (!line.floor.empty())
        out += path(line.floor, fmt::format("floor s{}", colour_of(backends_, line.backend)));
    }
    for (const FigureLine& line : test_.lines) out += curve(line);
    return out + "</g>\n";
  }

 private:
  std::string frame() const {
    const double x1 = x0_ + left;
    const double x2 = x0_ + panel_width - right;
    const double y1 = y0_ + top;
    const double y2 = y0_ + panel_height - bottom;
    std::string out =
        text_at(x1, y0_ + 20,
                fmt::format("{}, {}", test_.name,
                            quantity_ == Quantity::time ? "median time (us)" : "bus bandwidth (GB/s)"),
                "class=\"name\"");
    for (double value = values_.values().least; value <= values_.values().most * 1.0001; value *= 10) {
      const double y = values_.at(value);
      out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", x1, y, x2);
      out += text_at(x1 - 8, y + 4, value_text(value), "text-anchor=\"end\"");
    }
    // As many sizes as have room for their words.
    const double steps = std::max(1.0, std::log2(sizes_.values().most / sizes_.values().least));
    const double stride = std::max(1.0, std::ceil(steps / 8));
    for (double i = 0; i <= steps + 0.001; i += stride) {
      const double bytes = sizes_.values().least * std::exp2(i);
      const double x = sizes_.at(bytes);
      out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x, y1, y2);
      out += text_at(x, y2 + 17, size_text(bytes), "text-anchor=\"middle\"");
      if (sizes_.values().most <= sizes_.values().least) break;
    }
    out += text_at((x1 + x2) / 2, y2 + 36, "bytes", "text-anchor=\"middle\" class=\"fact\"");
    return out + fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", x1, y1, y2, x2);
  }

  std::string path(const std::vector<FigurePoint>& points, const std::string& classes) const {
    std::string steps;
    for (const FigurePoint& point : points) {
      if (!drawable(point, quantity_)) continue;
      steps += fmt::format("{}{:.1f} {:.1f}", steps.empty() ? "M" : "L", sizes_.at(point.bytes),
                           values_.at(value_of(point, quantity_)));
    }
    return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes, steps);
  }

  std::string curve(const FigureLine& line) const {
    const std::size_t colour = colour_of(backends_, line.backend);
    const char* const place = line.in_place ? "in place" : "out of place";
    std::string out = path(line.points, fmt::format("line s{}{}", colour, line.in_place ? " in" : ""));
    for (const FigurePoint& point : line.points) {
      if (!drawable(point, quantity_)) continue;
      out += fmt::format(
          "<circle class=\"d{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"><title>{}, {}: {} B, {} us, {} "
          "GB/s</title></circle>\n",
          colour, sizes_.at(point.bytes), values_.at(value_of(point, quantity_)), escaped(line.backend),
          place, size_text(point.bytes), value_text(point.micros), value_text(point.busbw));
    }
    return out;
  }

  const FigureTest& test_;
  Quantity quantity_;
  const std::vector<std::string>& backends_;
  double x0_;
  double y0_;
  Axis sizes_;
  Axis values_;
};

// What the lines mean: colours are backends, dots are in place, dashes the floor.
std::string legend(const Figure& figure, const std::vector<std::string>& backends, double y) {
  bool in_place = false;
  bool out_of_place = false;
  bool floor = false;
  for (const FigureTest& test : figure.tests) {
    for (const FigureLine& line : test.lines) {
      (line.in_place ? in_place : out_of_place) = true;
      floor = floor || !line.floor.empty();
    }
  }
  double x = border;
  std::string out;
  const auto entry = [&](const std::string& classes, const std::string& words) {
    out += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}h28\"/>\n", classes, x, y - 4);
    out += text_at(x + 34, y, words);
    x += 34 + letter * static_cast<double>(words.size()) + 22;
  };
  for (const std::string& name : backends) {
    const std::size_t colour = colour_of(backends, name);
    if (out_of_place) entry(fmt::format("line s{}", colour), in_place ? name + ", out of place" : name);
    if (in_place) entry(fmt::format("line s{} in", colour), name + ", in place");
  }
  if (floor) entry("floor any", "what the machine allows");
  return out;
}

// A size of nothing has no place on the axes.
std::vector<std::string> sizeless(const Figure& figure) {
  std::vector<std::string> lines;
  for (const FigureTest& test : figure.tests) {
    for (const FigureLine& line : test.lines) {
      for (const FigurePoint& point : line.points) {
        if (point.bytes == 0)
          lines.push_back(
              fmt::format("{} over {}: {} us", test.name, line.backend, value_text(point.micros)));
      }
    }
  }
  return lines;
}

}  // namespace

std::string svg_of(const Figure& figure) {
  const std::vector<std::string> backends = backends_of(figure);
  std::vector<std::string> facts = figure.facts;
  const std::vector<std::string> more = sizeless(figure);
  facts.insert(facts.end(), more.begin(), more.end());
  double y = border + 14;
  std::string body = text_at(border, y, "rondo bench", "class=\"title\"");
  for (const std::string& fact : facts) {
    y += fact_height;
    body += text_at(border, y, fact, "class=\"fact\"");
  }
  y += 28;
  body += legend(figure, backends, y);
  y += 8;
  for (const FigureTest& test : figure.tests) {
    bool any = false;
    double x = border;
    for (const Quantity quantity : {Quantity::time, Quantity::rate}) {
      if (has_panel(test, quantity)) {
        body += Panel(test, quantity, backends, x, y).svg();
        any = true;
      }
      x += panel_width;
    }
    if (any) y += panel_height;
  }
  const double width = 2 * panel_width + 2 * border;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" aria-label=\"rondo bench\">\n<style>{2}</style>\n"
      "<rect class=\"page\" width=\"{0:.0f}\" height=\"{1:.0f}\"/>\n{3}</svg>\n",
      width, y + border, style(), body);
}

namespace {

std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return escaped(value.get<std::string>());
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return escaped(value.dump());
}

constexpr const char* page_style =
    "body{margin:0 auto;max-width:980px;padding:16px;font:14px system-ui,-apple-system,'Segoe UI',sans-serif;"
    "background:#fff;color:#222}svg{max-width:100%;height:auto}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:3px 9px;text-align:right;border-bottom:1px solid #e4e4e4;white-space:nowrap}"
    "th{position:sticky;top:0;background:#fff}dl{display:grid;grid-template-columns:max-content 1fr;gap:2px "
    "14px}"
    "dt{color:#666}dd{margin:0}summary{cursor:pointer;margin:12px 0}"
    "@media(prefers-color-scheme:dark){body{background:#17191c;color:#e6e6e6}th{background:#17191c}"
    "th,td{border-color:#2e3136}dt{color:#a5a5a5}}";

}  // namespace

std::string html_of(const Json& document) {
  const Figure figure = figure_of(document);
  std::string facts;
  for (const auto& [name, value] : document["header"].items())
    facts += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name),
                         value.is_object() && value.empty() ? "defaults" : cell_of(value));
  constexpr std::array<const char*, 14> columns{"test",   "backend",    "size",     "count",  "type",
                                                "redop",  "root",       "place",    "min_us", "median_us",
                                                "p99_us", "busbw_GBps", "floor_us", "wrong"};
  std::string table = "<tr>";
  for (const char* const column : columns) table += fmt::format("<th>{}</th>", column);
  table += "</tr>\n";
  for (const Json& row : document["rows"]) {
    table += "<tr>";
    for (const char* const column : columns) {
      const auto at = row.find(column);
      table += fmt::format("<td>{}</td>", at == row.end() ? "" : cell_of(*at));
    }
    table += "</tr>\n";
  }
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>rondo bench</title>\n"
      "<style>{}</style>\n</head>\n<body>\n{}"
      "<details><summary>Every fact of the run</summary>\n<dl>\n{}</dl>\n</details>\n"
      "<details open><summary>Every row</summary>\n<div "
      "class=\"scroll\"><table>\n{}</table></div>\n</details>\n"
      "</body>\n</html>\n",
      page_style, svg_of(figure), facts, table);
}

}  // namespace rondo::tools::bench
