#include "sluice-sim/print.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <string>

using namespace sluice_sim;

TEST_CASE("tables, notes and a line per bar") {
  result what;
  what.notes = {"seed 9 is generated"};
  what.tables = {{"Figures", {"arm", "share %"}, {{"none", "64.5"}, {"fail-fast", "9.0"}}}};
  what.bars = {at_least("success", 99.5, 99, "%"), at_most("p95", 12.345, 11, "s"), at_most("429s", 0, 0, ""),
               at_least("nobody", std::nan(""), 1, "s")};
  std::ostringstream to;
  print(to, {"E9", "a trial", {}}, what);
  CHECK(to.str() ==
        "E9: a trial\n"
        "note: seed 9 is generated\n"
        "\n"
        "Figures\n"
        "arm        share %\n"
        "none          64.5\n"
        "fail-fast      9.0\n"
        "\n"
        "ok    success >= 99.00 %: 99.50 %\n"
        "MISS  p95 <= 11.00 s: 12.35 s\n"
        "ok    429s <= 0: 0\n"
        "MISS  nobody >= 1.00 s: none\n");
  CHECK_FALSE(all_reached(what));
  what.bars.resize(1);
  CHECK(all_reached(what));
  CHECK(all_reached(result()));
}
