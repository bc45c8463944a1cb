#include <sluice/sim/class_result.hpp>
#include <sluice/sim/simulation.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace std::chrono_literals;
using namespace sluice;
using sluice::sim::class_result;

TEST_CASE("nothing came: full success, no wait") {
  const class_result none;
  CHECK(none.success() == 1);
  CHECK(none.wait_percentile(0.5) == 0s);
  CHECK(none.waits().empty());
  CHECK(none.refused_for(reason::closed) == 0);
}

TEST_CASE("percentiles by nearest rank") {
  // One slot, jobs of one second that all come at once: waits of 0, 1, ... 9 seconds.
  policy rules({1, 1'000});
  sim::simulation trial(rules);
  for (int i = 0; i < 10; ++i) trial.arrive(instant{}, {.service = 1s});
  trial.run();
  const class_result& result = trial.result(interactive);
  REQUIRE(result.waits().size() == 10);
  CHECK(result.wait_percentile(0) == 0s);
  CHECK(result.wait_percentile(0.1) == 0s);
  CHECK(result.wait_percentile(0.11) == 1s);
  CHECK(result.wait_percentile(0.5) == 4s);
  CHECK(result.wait_percentile(0.95) == 9s);
  CHECK(result.wait_percentile(1) == 9s);
  CHECK(result.wait_percentile(7) == 9s);
  CHECK(result.wait_percentile(-1) == 0s);
}
