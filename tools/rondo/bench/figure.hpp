#pragma once
/// Curves of a bench, as text in SVG: a panel for every test and quantity, logarithmic on both axes, a line
/// for every backend and placement, and the floor.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rondo::tools::bench {

/// One measured size on a line.
struct FigurePoint {
  double bytes = 0;
  double micros = 0;
  double busbw = 0;  ///< GB/s
};

/// What was measured over one backend, in one placement.
struct FigureLine {
  std::string backend;
  bool in_place = false;
  std::vector<FigurePoint> points;
  std::vector<FigurePoint> floor;  ///< where there is one
};

struct FigureTest {
  std::string name;
  std::vector<FigureLine> lines;
};

struct Figure {
  std::vector<std::string> facts;  ///< lines under the title
  std::vector<FigureTest> tests;
};

/// Of the document that `rondo bench --json` writes. Throws std::invalid_argument that names what is missing
/// or wrong, and where.
Figure figure_of(const nlohmann::ordered_json& document);

/// `text` as it stands between tags and in attributes of SVG and HTML. What no XML may hold is left out.
std::string escaped(std::string_view text);

/// A whole SVG document. It has its own colours for light and dark, and needs nothing besides itself.
std::string svg_of(const Figure& figure);

/// A whole HTML page: the curves, and all rows of `document` in a table.
std::string html_of(const nlohmann::ordered_json& document);

}  // namespace rondo::tools::bench
