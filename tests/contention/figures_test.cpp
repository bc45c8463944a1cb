#include <contention/figures.hpp>
#include <contention/table.hpp>
#include <contention/tally.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace contention;

TEST_CASE("a percentile is a value that was measured, by nearest rank") {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  CHECK(percentile(values, 0.5) == 50);
  CHECK(percentile(values, 0.95) == 95);
  CHECK(percentile(values, 0.951) == 96);
  CHECK(percentile(values, 1) == 100);
  CHECK(percentile(values, 0) == 1);
}

TEST_CASE("percentiles of few values") {
  CHECK(percentile({}, 0.95) == 0);
  CHECK(percentile({7}, 0.5) == 7);
  CHECK(percentile({7}, 0.95) == 7);
  CHECK(percentile({2, 1}, 0.5) == 1);
  CHECK(percentile({2, 1}, 0.51) == 2);
  CHECK(percentile({3, 1, 2}, 0.95) == 3);
}

TEST_CASE("thousands are set apart") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1'000) == "1,000");
  CHECK(with_commas(-1) == "-1");
  CHECK(with_commas(-123) == "-123");
  CHECK(with_commas(-123'456) == "-123,456");
  CHECK(with_commas(1'234'567) == "1,234,567");
  CHECK(with_commas(std::numeric_limits<std::int64_t>::max()) == "9,223,372,036,854,775,807");
}

TEST_CASE("seconds and shares") {
  CHECK(in_seconds(0.474) == "0.47 s");
  CHECK(in_seconds(12) == "12.00 s");
  CHECK(in_percent(1) == "100.0 %");
  CHECK(in_percent(0.0513) == "5.1 %");
  CHECK(one_digit(1.25) == "1.2");
  CHECK(one_digit(1.26) == "1.3");
}

TEST_CASE("columns are as wide as their widest cell, and no line ends in blanks") {
  table rows(1);
  rows.add({"name", "a", "long one"});
  rows.add_rule();
  rows.add({"x", "12,345", "1"});
  rows.add({"y"});
  CHECK(rows.text() ==
        "name       a  long one\n"
        "----------------------\n"
        "x     12,345         1\n"
        "y\n");
}

TEST_CASE("an empty table is an empty text") { CHECK(table(2).text().empty()); }

TEST_CASE("a tally counts attempts by what became of them") {
  using sluice::errc;
  tally seen;
  seen.attempt_failed({errc::rate_limited, "slow down"});
  seen.attempt_failed({errc::rate_limited, "slow down"});
  seen.attempt_failed({errc::connection_lost, "gone"});
  CHECK(seen.too_many == 2);
  CHECK(seen.refused == 0);
  CHECK(seen.broken_tokens == 0);

  sluice::llm::failure turned_away(errc::refused, "no room");
  turned_away.refusal = sluice::rejection(sluice::decision{}, "interactive");
  seen.attempt_failed(turned_away);
  CHECK(seen.refused == 1);
}

TEST_CASE("a broken answer is wasted, but a preempted one is in the gate's accounts") {
  sluice::llm::failure broke(sluice::errc::connection_lost, "gone");
  broke.partial.emplace();
  broke.partial->usage.input_tokens = 100;
  broke.partial->usage.output_tokens = 20;
  auto preempted = broke;
  preempted.why = sluice::error(sluice::errc::preempted, "taken back");

  tally seen;
  seen.attempt_failed(broke);
  CHECK(seen.broken_tokens == 120);
  seen.attempt_failed(preempted);
  CHECK(seen.broken_tokens == 120);
}

TEST_CASE("success is of all that started") {
  tally seen;
  CHECK(seen.success() == 1);
  seen.started = 4;
  for (const double latency : {0.1, 0.3, 0.2}) seen.piece_succeeded(latency);
  seen.piece_failed({sluice::errc::overloaded, "busy"});
  CHECK(seen.success() == 0.75);
  CHECK(seen.failed == 1);
  CHECK(percentile(seen.latencies, 1) == 0.3);
  REQUIRE(seen.failures.size() == 1);
  CHECK(seen.failures.begin()->first == make_error_code(sluice::errc::overloaded).message());
  CHECK(seen.failures.begin()->second == 1);
}
