#include "sluice-sim/markup.hpp"

#include "markup_reader.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace sluice_sim;

TEST_CASE("text is fit for HTML, and for attributes") {
  CHECK(escaped("a < b & \"c\" > d") == "a &lt; b &amp; &quot;c&quot; &gt; d");
  CHECK(attribute("data-name", "\"<&") == " data-name=\"&quot;&lt;&amp;\"");
}

TEST_CASE("figures are short, and whole where they are large") {
  CHECK(figure(0) == "0");
  CHECK(figure(99.6155) == "99.62");
  CHECK(figure(0.000123461) == "0.0001235");
  CHECK(figure(1'258'296) == "1258296");
  CHECK(figure(-2'000.4) == "-2000");
  CHECK(figure(std::nan("")) == "none");
  CHECK(figure(std::numeric_limits<double>::infinity()) == "none");
}

TEST_CASE("figures of an axis are shorter still") {
  CHECK(short_figure(2'000'000) == "2 M");
  CHECK(short_figure(-500'000) == "-500 k");
  CHECK(short_figure(8'000) == "8000");
  CHECK(short_figure(0.1) == "0.1");
}

TEST_CASE("coordinates have a tenth, if any") {
  CHECK(px(12) == "12");
  CHECK(px(12.34) == "12.3");
  CHECK(px(-0.26) == "-0.3");
  CHECK(px(-0.04) == "0");
  CHECK(px(9.96) == "10");
}

TEST_CASE("the reader of the tests finds faults") {
  CHECK(markup_fault("<!DOCTYPE html>\n<p a=\"1\">x &amp; y<br/></p>") == "");
  CHECK(markup_fault("<p><b></p></b>") != "");
  CHECK(markup_fault("<p>") != "");
  CHECK(markup_fault("</p>") != "");
  CHECK(markup_fault("<p>a & b</p>") != "");
  CHECK(markup_fault("<p>a < b</p>") != "");
  CHECK(markup_fault("<p a=1></p>") != "");
  CHECK(markup_fault("<p a=\"1\" a=\"2\"></p>") != "");
  CHECK(markup_fault("<p id=\"x\"></p><p id=\"x\"></p>") != "");
  CHECK(markup_fault("<a href=\"#x\"></a>") != "");
  CHECK(markup_fault("<p fill=\"url(#x)\"></p>") != "");
}

TEST_CASE("the reader of the tests finds numbers, and what is none") {
  const auto good = numbers_of_drawings("<path d=\"M1 2h3V-4.5z\" x=\"7\"/>");
  REQUIRE(good.size() == 5);
  CHECK(good[3].value == -4.5);
  CHECK(good[4].value == 7);
  const auto bad = numbers_of_drawings("<polyline points=\"1,nan 2,inf x,3\"/>");
  REQUIRE(bad.size() == 6);
  CHECK(std::isnan(bad[1].value));
  CHECK(std::isinf(bad[3].value));
  CHECK(std::isnan(bad[4].value));
}
