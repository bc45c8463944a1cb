#include "sluice-sim/report.hpp"

#include "markup_reader.hpp"

#include <sluice/core/error.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace sluice_sim;

namespace {

std::vector<finished> one() {
  result what;
  what.notes = {"a < b & c"};
  what.tables = {{"Figures",
                  {"arm", "batch ok %", "tokens"},
                  {{"\"none\"", "95.1 (93.0-96.2)", "1234567"}, {"best (ours)", "-", "7"}}}};
  what.bars = {at_least("success", 1, 2, "%"), at_most("p95", 1, 2, "s")};
  what.plots = {{"held", "interactive", "s", "slots", {{0, 0}, {10, 5}}},
                {"held", "batch", "s", "slots", {{0, 0}, {10, 20}}},
                {"waiting", "batch", "s", "requests", {{0, 1}, {5, 2}}},
                {"empty", "batch", "s", "requests", {}}};
  return {{"E9", "a <trial>", what}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

// One of each kind, in two panels, with what plots have to bear: holes, nothing at all, a single point.
std::vector<finished> all_kinds() {
  constexpr double hole = std::numeric_limits<double>::quiet_NaN();
  constexpr double endless = std::numeric_limits<double>::infinity();
  result what;
  for (const char* panel : {"one \"&\" <arm>", "another"}) {
    const auto add = [&](const char* plot, const char* name, mark how, std::vector<std::pair<double, double>> points) {
      what.plots.push_back({plot, name, "s", "slots", std::move(points), how, panel});
    };
    add("levels", "interactive", mark::area, {{0, 1}, {1, 3}, {2, 0}});
    add("levels", "interactive, borrowed", mark::hatched, {{0, 0}, {1, 2}, {2, 0}});
    add("levels", "batch, ceiling", mark::limit, {{0, 1}, {1, hole}, {2, 4}});
    add("times", "interactive", mark::dots, {{0, 0.1}, {1, 3}, {1.5, endless}, {2, 70}});
    add("times", "interactive, failed", mark::ticks, {{1, 0}});
    add("counts", "started", mark::bars, {{0, 1}, {1, 0}, {2, 3}});
    add("counts", "refused", mark::bars_below, {{0, 0}, {1, 4}, {2, 1}});
    add("lines", "limit", mark::line, {{1, hole}, {1, 5}});
  }
  what.bars = {at_least("nobody came", hole, 2, "%")};
  return {{"E9", "all kinds", what}};
}

}  // namespace

TEST_CASE("a page has tables, bars and a plot for the series of a name") {
  const std::string page = report_page(one());
  CHECK(count(page, "<table") == 2);
  CHECK(count(page, "<svg class=\"plot\"") == 2);
  CHECK(count(page, "<g class=\"series") == 3);
  CHECK(count(page, "MISS") == 1);
  CHECK(count(page, "1 of 2 reached") == 1);
}

TEST_CASE("what is in a page is well-formed, fetches nothing, and each of its numbers is one") {
  for (const auto& what : {one(), all_kinds(), std::vector<finished>{}}) {
    const std::string page = report_page(what);
    CHECK(markup_fault(page) == "");
    // The namespace of SVG is a name, and not an address.
    CHECK(count(page, "http") == count(page, "http://www.w3.org/2000/svg"));
    for (const char* outside : {"src=", "@import", "<link", "url(\"", "url('", "fetch(", "XMLHttpRequest"}) {
      CAPTURE(outside);
      CHECK(count(page, outside) == 0);
    }
    CHECK(count(page, "url(") == count(page, "url(#hatch"));
    for (const auto& each : numbers_of_drawings(page)) CHECK_MESSAGE(std::isfinite(each.value), each.text);
  }
}

TEST_CASE("each series with points is drawn once in its panel, whatever its kind") {
  const std::string page = report_page(all_kinds());
  CHECK(count(page, "<svg class=\"plot\"") == 8);
  CHECK(count(page, "<g class=\"series") == 16);
  for (const char* kind : {"line", "limit", "dots", "ticks", "area", "hatched", "bars", "bars below"}) {
    CAPTURE(kind);
    CHECK(count(page, "<g class=\"series " + std::string(kind) + " c") == 2);
  }
  CHECK(count(page, "<figcaption>one &quot;&amp;&quot; &lt;arm&gt;</figcaption>") == 4);
  CHECK(count(page, ">none<") == 0);
  CHECK(count(page, "<td>none %</td>") == 1);
}

TEST_CASE("a class has one colour, with or without what is said of it") {
  const std::string page = report_page(all_kinds());
  CHECK(count(page, "<g class=\"series area c0\" data-name=\"interactive\">") == 2);
  CHECK(count(page,
              "<g class=\"series hatched c0\" data-name=\"interactive, borrowed\"><polygon fill=\"url(#hatch0)\"") ==
        2);
  CHECK(count(page, "<g class=\"series limit c1\" data-name=\"batch, ceiling\">") == 2);
}

TEST_CASE("text is escaped; what belongs together stays so") {
  const std::string page = report_page(one());
  CHECK(count(page, "a &lt;trial&gt;") == 1);
  CHECK(count(page, "a &lt; b &amp; c") == 1);
  CHECK(count(page, "<td>&quot;none&quot;</td>") == 1);
  CHECK(count(page, "<td>95.1<span class=\"range\"> (93.0-96.2)</span></td>") == 1);
  CHECK(count(page, "<td>1,234,567</td>") == 1);
  CHECK(count(page, "<td>best (ours)</td>") == 1);
  CHECK(count(page, "<th>batch ok&#160;%</th>") == 1);
  CHECK(count(page, "<td>success</td><td>&gt;=&#160;2 %</td><td>1 %</td>") == 1);
}

TEST_CASE("series of a plot share its axes") {
  const std::string page = report_page(one());
  // 5 of at most 20 is a quarter of the way up, 20 all the way.
  CHECK(count(page, "points=\"42,180 352,140\"") == 1);
  CHECK(count(page, "points=\"42,180 352,20\"") == 1);
}

TEST_CASE("an axis has the sign of its values, but counts have none, whichever way they go") {
  result what;
  what.plots = {{"differences", "apart", "s", "tokens", {{0, -30'000}, {1, 30'000}}},
                {"counts", "refused", "s", "requests", {{0, 30'000}, {1, 1}}, mark::bars_below}};
  const std::string page = report_page({{"E9", "signs", what}});
  CHECK(count(page, ">-20 k</text>") == 1);
  CHECK(count(page, ">20 k</text>") == 2);
}

TEST_CASE("what is drawn does not grow with what is handed over") {
  result what;
  series line{"x", "line", "s", "slots", {}};
  series dots{"x", "dots", "s", "slots", {}, mark::dots};
  series area{"y", "area", "s", "slots", {}, mark::area};
  series bars{"z", "bars", "s", "slots", {}, mark::bars};
  for (int i = 0; i < 200'000; ++i) {
    const double y = 1 + (i * 7919) % 1'009;
    for (series* each : {&line, &dots, &area, &bars}) each->points.emplace_back(i, y);
  }
  what.plots = {line, dots, area, bars};
  CHECK(report_page({{"E9", "long", what}}).size() < 300'000);
}

TEST_CASE("a page is written to a file; one that cannot be written is an error") {
  const auto file = std::filesystem::temp_directory_path() / "sluice-sim-report-test.html";
  write_report(file, one());
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  CHECK(text.str() == report_page(one()));
  std::filesystem::remove(file);
  CHECK_THROWS_AS(write_report("/no/such/directory/report.html", one()), sluice::error_exception);
}
