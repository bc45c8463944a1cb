#include "sluice-sim/report.hpp"

#include <sluice/core/error.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace sluice_sim;

namespace {

std::vector<finished> one() {
  result what;
  what.notes = {"a < b & c"};
  what.tables = {{"Figures", {"arm"}, {{"\"none\""}}}};
  what.bars = {at_least("success", 1, 2, "%")};
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

}  // namespace

TEST_CASE("a page has tables, bars and one plot for the series of a name, and fetches nothing") {
  const std::string page = report_page(one());
  CHECK(count(page, "<table>") == 2);
  CHECK(count(page, "<svg ") == 2);
  CHECK(count(page, "<polyline ") == 3);
  CHECK(count(page, "MISS") == 1);
  CHECK(count(page, "http") == 0);
  CHECK(count(page, "<script") == 0);
}

TEST_CASE("text is escaped") {
  const std::string page = report_page(one());
  CHECK(count(page, "a &lt;trial&gt;") == 1);
  CHECK(count(page, "a &lt; b &amp; c") == 1);
  CHECK(count(page, "<td>&quot;none&quot;</td>") == 1);
}

TEST_CASE("series of a plot share its axes") {
  const std::string page = report_page(one());
  // 5 of at most 20 is a quarter of the way up, 20 all the way.
  CHECK(count(page, "points=\"44,176 676,143 \"") == 1);
  CHECK(count(page, "points=\"44,176 676,44 \"") == 1);
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
