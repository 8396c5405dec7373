#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>

#include "report.hpp"

namespace digits {
namespace {

constexpr double width = 960;
constexpr double height = 440;
constexpr const char* one_style = R"(stroke="#f0a04b" stroke-width="6" stroke-linecap="round")";
constexpr const char* several_style = R"(stroke="#1f4e8c" stroke-width="2" stroke-dasharray="7 4")";

/// A diagram within the picture: pixels of its corners, and the values they stand for.
struct Panel {
  double left, right, top, bottom;
  double last_epoch;
  double low, high;
  bool logarithmic;

  double x(double epoch) const {
    return last_epoch <= 1 ? (left + right) / 2 : left + (right - left) * (epoch - 1) / (last_epoch - 1);
  }
  double y(double value) const {
    const double at = logarithmic ? std::log(std::clamp(value, low, high) / low) / std::log(high / low)
                                  : (std::clamp(value, low, high) - low) / (high - low);
    return bottom - (bottom - top) * at;
  }
};

/// The smallest of 1, 2, 5, 10, 20, 50, ... that cuts `range` into at most `parts`.
double round_step(double range, double parts) {
  double step = std::pow(10.0, std::floor(std::log10(range / parts)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (range / (step * factor) <= parts) return step * factor;
  }
  return step * 10.0;
}

class Svg {
 public:
  Svg() {
    add(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
        R"(font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#333">)",
        width, height);
    add(R"(<rect width="{}" height="{}" fill="#fff"/>)", width, height);
  }

  void text(double x, double y, const std::string& words, const char* anchor, const char* extra = "") {
    add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" {}>{}</text>)", x, y, anchor, extra, words);
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    add(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>)", x1, y1, x2, y2, style);
  }
  void curve(const Panel& panel, std::span<const double> values, const char* style) {
    std::string points;
    if (values.size() == 1) {  // a dash: a curve of one point would not be seen
      fmt::format_to(std::back_inserter(points), "{:.2f},{:.2f} ", panel.x(1) - 12, panel.y(values[0]));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      fmt::format_to(std::back_inserter(points), "{:.2f},{:.2f} ", panel.x(static_cast<double>(i + 1)),
                     panel.y(values[i]));
    }
    add(R"(<polyline points="{}" fill="none" stroke-linejoin="round" {}/>)", points, style);
  }

  std::string finish() { return text_ + "</svg>\n"; }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    text_ += fmt::format(format, std::forward<Values>(values)...) + "\n";
  }
  std::string text_;
};

constexpr const char* grid_style = R"(stroke="#e3e3e3" stroke-width="1")";
constexpr const char* axis_style = R"(stroke="#555" stroke-width="1.2")";

void draw_value_tick(Svg& svg, const Panel& panel, double value, const std::string& label) {
  const double y = panel.y(value);
  svg.line(panel.left, y, panel.right, y, grid_style);
  svg.line(panel.left - 5, y, panel.left, y, axis_style);
  svg.text(panel.left - 9, y + 4.5, label, "end");
}

void draw_axes(Svg& svg, const Panel& panel, const char* title) {
  const double middle = (panel.left + panel.right) / 2;
  const double step = std::max(1.0, round_step(panel.last_epoch, 7));
  for (double epoch = step; epoch <= panel.last_epoch; epoch += step) {
    svg.line(panel.x(epoch), panel.bottom, panel.x(epoch), panel.bottom + 5, axis_style);
    svg.text(panel.x(epoch), panel.bottom + 20, fmt::format("{:.0f}", epoch), "middle");
  }
  svg.line(panel.left, panel.top, panel.left, panel.bottom, axis_style);
  svg.line(panel.left, panel.bottom, panel.right, panel.bottom, axis_style);
  svg.text(middle, panel.bottom + 42, "epoch", "middle");
  svg.text(middle, panel.top - 14, title, "middle", R"(font-size="15" font-weight="bold")");
}

/// Loss goes over decades, so its axis is logarithmic: ticks at 1, 2 and 5 of each.
void draw_loss(Svg& svg, const Outcome& one, const Outcome& several) {
  const auto [low1, high1] = std::minmax_element(one.loss.begin(), one.loss.end());
  const auto [low2, high2] = std::minmax_element(several.loss.begin(), several.loss.end());
  const double least = 1e-6;
  const double low = std::max(least, std::min(*low1, *low2) / 1.25);
  const double high = std::max(low * 5, std::max(*high1, *high2) * 1.25);  // two ticks at least
  const Panel panel{80, 450, 90, 360, static_cast<double>(one.loss.size()), low, high, true};
  for (double decade = least; decade <= high; decade *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = decade * factor;
      if (value >= low && value <= high) draw_value_tick(svg, panel, value, fmt::format("{:.3g}", value));
    }
  }
  draw_axes(svg, panel, "Training loss (nats per image, log scale)");
  svg.curve(panel, one.loss, one_style);
  svg.curve(panel, several.loss, several_style);
}

void draw_accuracy(Svg& svg, const Outcome& one, const Outcome& several) {
  const double lowest = std::min(*std::min_element(one.accuracy.begin(), one.accuracy.end()),
                                 *std::min_element(several.accuracy.begin(), several.accuracy.end()));
  const double step = round_step(std::max(0.02, 1.0 - lowest), 7);
  const double low = std::max(0.0, std::floor(lowest / step) * step);
  const Panel panel{560, 930, 90, 360, static_cast<double>(one.accuracy.size()), low, 1.0, false};
  const auto ticks = static_cast<int>(std::lround((1.0 - low) / step));
  for (int tick = 0; tick <= ticks; ++tick) {
    const double value = 1.0 - step * tick;
    draw_value_tick(svg, panel, value, fmt::format("{:.3g} %", 100 * value));
  }
  draw_axes(svg, panel, "Held-out accuracy");
  svg.curve(panel, one.accuracy, one_style);
  svg.curve(panel, several.accuracy, several_style);
}

void draw_legend(Svg& svg, const Outcome& several) {
  const auto entry = [&svg](double x, const std::string& words, const char* style) {
    svg.line(x, 30, x + 44, 30, style);
    svg.text(x + 54, 34.5, words, "start");
  };
  entry(width / 2 - 150, "1 rank", one_style);
  entry(width / 2 + 20, ranks_text(static_cast<int>(several.hashes.size())), several_style);
}

}  // namespace

void write_picture(const std::filesystem::path& file, const Outcome& one, const Outcome& several) {
  Svg svg;
  draw_legend(svg, several);
  draw_loss(svg, one, several);
  draw_accuracy(svg, one, several);

  std::ofstream out(file);
  out << svg.finish();
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", file.string()));
}

}  // namespace digits
