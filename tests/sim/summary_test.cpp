#include <sluice/sim/summary.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice::sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;
using sluice::never;

namespace {

visit done(sluice::duration first_token, sluice::duration latency, sluice::workload of = interactive,
           instant arrival = instant{} + 10s) {
  visit made;
  made.workload = of;
  made.succeeded = true;
  made.arrival = arrival;
  made.first_token = arrival + first_token;
  made.end = arrival + latency;
  return made;
}

visit failed(sluice::workload of = interactive) {
  visit made;
  made.workload = of;
  made.arrival = instant{} + 10s;
  made.end = instant{} + 12s;
  made.rejections = 2;
  made.refusals = 1;
  made.wasted_tokens = 500;
  return made;
}

}  // namespace

TEST_CASE("a percentile is the value at its rank, rounded down") {
  const std::vector<double> values{5, 1, 4, 2, 3};
  CHECK(percentile(values, 0) == 1);
  CHECK(percentile(values, 0.5) == 3);
  CHECK(percentile(values, 0.79) == 4);
  CHECK(percentile(values, 0.95) == 5);
  CHECK(percentile(values, 1) == 5);
  CHECK(percentile({7}, 0.5) == 7);
  CHECK(std::isnan(percentile({}, 0.5)));
}

TEST_CASE("what a class lived through") {
  std::vector<visit> visits{done(1s, 4s), done(2s, 31s), done(6s, 8s), failed(), done(1s, 1s, batch)};
  visits[0].preemptions = 2;
  const auto all = summarise(visits, interactive);
  CHECK(all.requests == 4);
  CHECK(all.succeeded == 3);
  CHECK(all.success == 0.75);
  CHECK(all.latency_p50 == 8);
  CHECK(all.latency_p95 == 31);
  CHECK(all.first_token_p50 == 2);
  CHECK(all.first_token_p95 == 6);
  CHECK(all.rejections == 2);
  CHECK(all.refusals == 1);
  CHECK(all.preemptions == 2);
  CHECK(all.wasted_tokens == 500);
  // Soon: the first two; of those only the first ends in time. What failed counts against both.
  CHECK(all.prompt == 0.5);
  CHECK(all.good == 0.25);
  const auto other = summarise(visits, batch);
  CHECK(other.requests == 1);
  CHECK(other.good == 1);
}

TEST_CASE("the limits of good are included") {
  CHECK(summarise({done(5s, 30s)}, interactive).good == 1);
  CHECK(summarise({done(5s + 1ns, 30s)}, interactive).prompt == 0);
  CHECK(summarise({done(5s, 30s + 1ns)}, interactive).good == 0);
  CHECK(summarise({done(5s, 30s + 1ns)}, interactive).prompt == 1);
}

TEST_CASE("a window bounds the times alone") {
  const std::vector<visit> visits{done(1s, 2s), done(1s, 5s), done(1s, 9s), failed()};
  const auto in = summarise(visits, interactive, instant{} + 15s, instant{} + 18s);
  CHECK(in.latency_p50 == 5);
  CHECK(in.latency_p95 == 5);
  CHECK(in.success == 0.75);
  CHECK(in.requests == 4);
  const auto none = summarise(visits, interactive, instant{} + 30s, never);
  CHECK(std::isnan(none.latency_p95));
  CHECK(std::isnan(none.first_token_p50));
}

TEST_CASE("of no requests there is no share") {
  const auto all = summarise({}, interactive);
  CHECK(all.requests == 0);
  CHECK(std::isnan(all.success));
  CHECK(std::isnan(all.good));
  CHECK(std::isnan(all.latency_p50));
}

TEST_CASE("served within a limit: what failed and what came late are not") {
  const std::vector<visit> visits{done(1s, 10s), done(1s, 10s + 1ns), failed(), done(1s, 1s, batch)};
  CHECK(served_within(visits, interactive, 10s) == doctest::Approx(1.0 / 3));
  CHECK(served_within(visits, batch, 10s) == 1);
  CHECK(std::isnan(served_within({}, batch, 10s)));
}

TEST_CASE("a figure over seeds has a median, a least and a most") {
  const auto odd = spread_of({3, 1, 2});
  CHECK(odd.median == 2);
  CHECK(odd.least == 1);
  CHECK(odd.most == 3);
  CHECK(spread_of({4, 1, 2, 3}).median == 2.5);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const auto holes = spread_of({none, 5, none});
  CHECK(holes.median == 5);
  CHECK(holes.most == 5);
  CHECK(std::isnan(spread_of({none}).median));
}

TEST_CASE("what never ended took for ever") {
  visit waits;
  CHECK(waits.latency() == sluice::duration::max());
  CHECK(waits.time_to_first_token() == sluice::duration::max());
}
