#include "sluice-sim/load.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice_sim;

TEST_CASE("the load of a trace is its work by what the provider carries, and can be set") {
  // Two requests of 1 s of prompt and 1 s of output each, in 4 s.
  std::vector<sluice::sim::trace_request> trace(2);
  trace[0].arrival = sluice::instant{} + 1s;
  trace[1].arrival = sluice::instant{} + 5s;
  for (auto& each : trace) each.attempts[0] = {1, 0, 4'000, 400};
  CHECK(span_of(trace) == 4s);
  sluice::sim::provider_model provider;
  provider.slots = 1;
  CHECK(load_of(trace, provider) == doctest::Approx(1));
  provider.slots = 2;
  CHECK(load_of(trace, provider) == doctest::Approx(1 / 1.6));
  const auto half = at_load(trace, provider, 0.5);
  CHECK(load_of(trace, half) == doctest::Approx(0.5));
  CHECK(half.prompt_rate == doctest::Approx(4'000 * 1.25));
  CHECK(half.output_rate == doctest::Approx(400 * 1.25));
  CHECK(half.slots == 2);
}
