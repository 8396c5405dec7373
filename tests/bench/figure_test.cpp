#include "bench/figure.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace rondo::tools::bench {
namespace {

using Json = nlohmann::ordered_json;

Json row(const std::string& test, const std::string& backend, const std::string& place, double bytes,
         double micros) {
  return {{"test", test},          {"backend", backend},
          {"place", place},        {"size", bytes},
          {"median_us", micros},   {"busbw_GBps", micros > 0 ? bytes / micros / 1000 : 0},
          {"floor_us", micros / 2}};
}

Json document(const std::vector<Json>& rows) {
  return {{"header", {{"system", "Linux <&> \"x\""}, {"settings", Json::object()}, {"ranks", 2}}},
          {"rows", rows}};
}

std::string refusal(const Json& what) {
  try {
    (void)figure_of(what);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(BenchFigure, RowsBecomeLines) {
  const Figure figure =
      figure_of(document({row("all_sum", "shm", "out", 4, 0.5), row("all_sum", "shm", "in", 4, 0.6),
                          row("all_sum", "tcp", "out", 4, 5), row("all_sum", "shm", "out", 16, 0.7),
                          row("barrier", "shm", "out", 0, 0.3)}));
  ASSERT_EQ(figure.tests.size(), 2U);
  EXPECT_EQ(figure.tests[0].name, "all_sum");
  ASSERT_EQ(figure.tests[0].lines.size(), 3U);
  const FigureLine& first = figure.tests[0].lines[0];
  EXPECT_EQ(first.backend, "shm");
  EXPECT_FALSE(first.in_place);
  ASSERT_EQ(first.points.size(), 2U);
  EXPECT_EQ(first.points[1].bytes, 16);
  EXPECT_EQ(first.points[1].micros, 0.7);
  ASSERT_EQ(first.floor.size(), 2U);
  EXPECT_EQ(first.floor[0].micros, 0.25);
  EXPECT_DOUBLE_EQ(first.floor[0].busbw, 2 * first.points[0].busbw);
  EXPECT_EQ(figure.facts,
            (std::vector<std::string>{"system: Linux <&> \"x\"", "ranks: 2", "settings: defaults"}));
}

TEST(BenchFigure, EveryPointIsDrawnOnceAPanel) {
  const Figure figure =
      figure_of(document({row("all_sum", "a<b", "out", 4, 0.5), row("all_sum", "a<b", "out", 64, 0.7),
                          row("all_sum", "tcp", "in", 4, 5), row("barrier", "tcp", "out", 0, 7.25)}));
  const std::string svg = svg_of(figure);
  EXPECT_EQ(occurrences(svg, "<circle"), 6U);  // three points, time and bandwidth
  EXPECT_EQ(occurrences(svg, "a&lt;b, out of place: 64 B, 0.7 us"), 2U);
  EXPECT_EQ(occurrences(svg, "tcp, in place: 4 B, 5 us"), 2U);
  EXPECT_NE(svg.find("barrier over tcp: 7.25 us"), std::string::npos) << "no size, no place on the axis";
  EXPECT_NE(svg.find("Linux &lt;&amp;&gt; &quot;x&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(svg.find("http", svg.find("xmlns") + 40), std::string::npos) << "nothing is fetched";
}

// One size and one time: axes of no length.
TEST(BenchFigure, ASinglePointIsAPicture) {
  const std::string svg = svg_of(figure_of(document({row("all_sum", "shm", "out", 4, 1)})));
  EXPECT_EQ(occurrences(svg, "<circle"), 2U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(BenchFigure, ThePageHasEveryRow) {
  const std::string html =
      html_of(document({row("all_sum", "shm", "out", 4, 0.5), row("all_sum", "tcp", "out", 4, 5)}));
  EXPECT_EQ(occurrences(html, "<tr>"), 3U);
  EXPECT_NE(html.find("<td>tcp</td>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(BenchFigure, WhatIsNoDocumentIsNamed) {
  EXPECT_EQ(refusal(Json::array()), "the document is no object");
  EXPECT_EQ(refusal(Json::object()), "the document has no \"header\"");
  EXPECT_EQ(refusal({{"header", 5}}), "\"header\" of the document is no object");
  EXPECT_EQ(refusal({{"header", Json::object()}}), "the document has no \"rows\"");
  EXPECT_EQ(refusal(document({})), "the document has no rows");
  Json bad = row("all_sum", "shm", "out", 4, 0.5);
  bad.erase("median_us");
  EXPECT_EQ(refusal(document({row("all_sum", "shm", "out", 4, 0.5), bad})), "row 2 has no \"median_us\"");
  bad["median_us"] = "fast";
  EXPECT_EQ(refusal(document({bad})), "row 1: \"median_us\" is \"fast\", expected a number");
  bad["median_us"] = -1;
  EXPECT_EQ(refusal(document({bad})), "row 1: \"median_us\" is -1, expected a number of at least 0");
  bad = row("all_sum", "shm", "beside", 4, 0.5);
  EXPECT_EQ(refusal(document({bad})), "row 1: \"place\" is \"beside\", expected in or out");
  EXPECT_EQ(refusal(document({Json(3)})), "row 1 is no object");
}

TEST(BenchFigure, ControlCharactersAreLeftOut) {
  EXPECT_EQ(escaped(std::string("a\x01") + "\x1b[31m'b'\n"), "a[31m&#39;b&#39;\n");
}

}  // namespace
}  // namespace rondo::tools::bench
