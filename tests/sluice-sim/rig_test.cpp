#include "sluice-sim/rig.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <vector>

using namespace std::chrono_literals;
using namespace sluice_sim;
using sluice::batch;
using sluice::instant;
using sluice::interactive;

namespace {

// One token a millisecond, whoever runs beside; a prompt takes no time.
rig_rules simple(std::int64_t slots) {
  rig_rules rules;
  rules.policy = sluice::policy({slots, 1'000'000});
  for (auto& each : rules.policy.classes) each.floor = {};
  rules.policy[batch].elastic = {};
  rules.provider.slots = slots;
  rules.provider.queue = 0;
  rules.provider.sigma = 0;
  rules.provider.latency = {};
  rules.provider.prompt_rate = 1e9;
  rules.provider.output_rate = 1'000;
  rules.report_every = 100;
  return rules;
}

errand lasting(std::int64_t ms, sluice::workload of = interactive) {
  errand what;
  what.workload = of;
  what.output_tokens = what.max_tokens = ms;
  return what;
}

double ms(sluice::duration length) { return std::chrono::duration<double, std::milli>(length).count(); }

}  // namespace

TEST_CASE("errands wait for their turn, take their time, and their callers may ask again") {
  rig on(simple(1));
  std::vector<record> seen;
  on.send(lasting(100), [&](const record& over) {
    seen.push_back(over);
    on.send(lasting(10), [&](const record& again) { seen.push_back(again); });
  });
  on.send(lasting(50), [&](const record& over) { seen.push_back(over); });
  on.time().run();
  REQUIRE(seen.size() == 3);
  CHECK(ms(seen[0].ended - instant{}) == doctest::Approx(100));
  CHECK(ms(seen[0].first_token - instant{}) == doctest::Approx(1).epsilon(0.01));
  CHECK(ms(seen[1].started - instant{}) == doctest::Approx(100));
  CHECK(ms(seen[1].ended - instant{}) == doctest::Approx(150));
  CHECK(ms(seen[2].arrived - instant{}) == doctest::Approx(100));
  CHECK(ms(seen[2].ended - instant{}) == doctest::Approx(160));
  for (const record& each : seen) CHECK(each.end == fate::answered);
  CHECK(on.gate().in_flight() == 0);
  CHECK(on.gate().broken_invariant().value_or("") == "");
}

TEST_CASE("a caller gives up, a provider says 429, and the gate is told of both") {
  rig_rules rules = simple(2);
  rules.policy.adaptive.enabled = true;
  rules.provider.slots = 1;
  rig on(rules);
  std::vector<fate> ends;
  errand slow = lasting(1'000);
  slow.time_out = 200ms;
  on.send(slow, [&](const record& over) {
    ends.push_back(over.end);
    CHECK(ms(over.ended - instant{}) == doctest::Approx(200));
    CHECK(over.wasted_tokens == 200);
    // A window of a second after the 429 has not passed.
    CHECK(on.gate().statistics().adaptive_limit == 1);
  });
  on.send(lasting(10), [&](const record& over) {
    ends.push_back(over.end);
    CHECK(on.gate().statistics().adaptive_reason == sluice::limit_change::rate_limited);
  });
  on.time().run();
  CHECK(ends == std::vector<fate>{fate::rate_limited, fate::timed_out});
  CHECK(on.provider().running() == 0);
}

TEST_CASE("who is stopped: the least sunk, the newest, or nobody") {
  const auto stopped = [](victim_rule victims) {
    rig_rules rules = simple(2);
    rules.policy[interactive].floor = {1, 100'000};
    rules.policy[interactive].restore_within = 100ms;
    rules.victims = victims;
    rules.stop_delay = 5ms;
    rig on(rules);
    std::vector<std::int64_t> inputs;
    double waited = 0;
    for (const std::int64_t prompt : {std::int64_t{10}, std::int64_t{5'000}}) {
      errand job = lasting(1'000, batch);
      job.input_tokens = prompt;
      on.send(job, [&inputs, prompt](const record& over) {
        CHECK(over.end == fate::answered);
        if (over.stops > 0) inputs.push_back(prompt);
        if (over.stops > 0) CHECK(over.wasted_tokens > prompt);
      });
    }
    on.time().at(instant{} + 10ms, [&] {
      on.send(lasting(10), [&waited](const record& over) { waited = ms(over.started - over.arrived); });
    });
    on.time().run();
    inputs.push_back(static_cast<std::int64_t>(waited));
    return inputs;
  };
  CHECK(stopped(victim_rule::least_sunk) == std::vector<std::int64_t>{10, 105});
  CHECK(stopped(victim_rule::newest) == std::vector<std::int64_t>{5'000, 105});
  CHECK(stopped(victim_rule::nobody) == std::vector<std::int64_t>{990});
}

TEST_CASE("policy and provider change while work is under way") {
  rig on(simple(1));
  std::vector<double> ends;
  for (int n = 0; n < 2; ++n)
    on.send(lasting(100), [&](const record& over) { ends.push_back(ms(over.ended - instant{})); });
  on.time().at(instant{} + 50ms, [&] {
    auto twice = simple(2);
    twice.provider.output_rate = 500;
    on.change(twice.provider);
    on.change(twice.policy);
  });
  on.time().run();
  REQUIRE(ends.size() == 2);
  CHECK(ends[0] == doctest::Approx(150));
  CHECK(ends[1] == doctest::Approx(250));
}
