// What a provider says about its limits, at the gate.
#include "core/logged_gate.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>

using namespace sluice;
using namespace sluice::core;
using namespace std::chrono_literals;
using sluice::core::testing::bare;
using sluice::core::testing::logged_gate;

namespace {

instant at(duration since) { return instant{} + since; }

}  // namespace

TEST_CASE("no more starts than the provider said would remain, on the fast way and in the queue") {
  auto rules = bare({10, 1'000});
  rules.retries.enabled = false;
  logged_gate gate(rules);
  CHECK_FALSE(gate.machine.needs_time());
  CHECK(gate.report_limits({.requests = {60, 2}}) == "-");
  CHECK(gate.machine.needs_time());
  CHECK(gate.machine.arrive_at_once({}, gate.now));
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK_FALSE(gate.machine.arrive_at_once({}, gate.now));
  CHECK(gate.arrive("try", {}, interactive, {.may_wait = false}) == "rejected try (rate_limited)");
  CHECK(gate.last.bound == constraint::reported_requests);
  CHECK(gate.last.limit == 60);
  CHECK(gate.last.available == 0);
  CHECK(gate.last.could_start == at(1s));
  CHECK(explain(gate.last, "interactive") ==
        "refused (rate_limited): the provider said that it lets 0 of 60 requests through now, 1 request asked; it "
        "could start in 1 "
        "s; or wait with admit()");
  CHECK(gate.arrive("c", {}) == "-");
  CHECK(gate.wake == at(1s));
  CHECK(gate.explain("c").bound == constraint::reported_requests);
  gate.now = at(1s) - 1ns;
  CHECK(gate.tick() == "-");
  gate.now = at(1s);
  CHECK(gate.tick() == "granted c");
}

TEST_CASE("tokens of both kinds, and what their sentence says") {
  logged_gate gate(bare({10, 10'000}));
  CHECK(gate.report_limits({.tokens = {60'000, 500}}) == "-");
  CHECK(gate.arrive("a", {.tokens = 400, .output_tokens = 100}) == "granted a");
  CHECK(gate.arrive("b", {.tokens = 200, .output_tokens = 100}, interactive, {.may_wait = false}) ==
        "rejected b (rate_limited)");
  CHECK(gate.last.bound == constraint::reported_tokens);
  CHECK(explain(gate.last, "interactive") ==
        "refused (rate_limited): the provider said that it lets 100 of 60,000 tokens through now, 200 tokens asked; it "
        "could start "
        "in 0.1 s; or wait with admit()");
  // What was not used comes back at its end.
  CHECK(gate.arrive("b", {.tokens = 300}) == "-");
  CHECK(gate.finish("a", usage{150, 50}) == "granted b");
}

TEST_CASE("input and output tokens are told apart, and a cost whose split is not known is input") {
  logged_gate gate(bare({10, 10'000}));
  CHECK(gate.report_limits({.input_tokens = {6'000, 100}, .output_tokens = {6'000, 50}}) == "-");
  CHECK(gate.arrive("a", {.tokens = 101}, interactive, {.may_wait = false}) == "rejected a (rate_limited)");
  CHECK(gate.last.bound == constraint::reported_input);
  CHECK(gate.arrive("b", {.tokens = 101, .output_tokens = 51}, interactive, {.may_wait = false}) ==
        "rejected b (rate_limited)");
  CHECK(gate.last.bound == constraint::reported_output);
  CHECK(gate.arrive("c", {.tokens = 150, .output_tokens = 50}) == "granted c");
}

TEST_CASE("what the policy says holds beside it, and is named first") {
  auto rules = bare({10, 10'000});
  rules.rates.requests = {60, 2};
  logged_gate gate(rules);
  CHECK(gate.report_limits({.requests = {6'000, 5'000}}) == "-");
  CHECK(gate.arrive("a", {}) == "granted a");
  CHECK(gate.arrive("b", {}) == "granted b");
  CHECK(gate.arrive("c", {}) == "-");
  CHECK(gate.explain("c").bound == constraint::provider_requests);
  CHECK(gate.wake == at(1s));
  // Both are in the way now; the later decides.
  CHECK(gate.report_limits({.requests = {30, 0}}) == "-");
  gate.now = at(1s);
  CHECK(gate.tick() == "-");
  CHECK(gate.explain("c").bound == constraint::reported_requests);
  CHECK(gate.wake == at(2s));
  gate.now = at(2s);
  CHECK(gate.tick() == "granted c");
}

TEST_CASE("nothing starts beyond what remains before a reset that was said without a limit") {
  logged_gate gate(bare({10, 10'000}));
  CHECK(gate.report_limits({.requests = {.remaining = 0, .reset = 20s}}) == "-");
  CHECK(gate.arrive("a", {}) == "-");
  CHECK(gate.arrive("b", {}) == "-");
  CHECK(gate.wake == at(20s));
  gate.now = at(20s);
  CHECK(gate.tick() == "granted a, granted b");
}

TEST_CASE("a new report may let waiters start: the reset comes nearer, or the limit was raised") {
  logged_gate gate(bare({10, 10'000}));
  CHECK(gate.report_limits({.requests = {.remaining = 0, .reset = 20s}}) == "-");
  CHECK(gate.arrive("a", {}) == "-");
  gate.now = at(5s);
  CHECK(gate.report_limits({.requests = {.remaining = 0, .reset = 0s}}) == "granted a");
  CHECK(gate.report_limits({.input_tokens = {60, 0}}) == "-");
  CHECK(gate.arrive("b", {.tokens = 10}) == "-");
  CHECK(gate.wake == at(15s));
  CHECK(gate.report_limits({.input_tokens = {600, 600}}) == "granted b");
}

TEST_CASE("more than the provider's limit is not refused for good") {
  logged_gate gate(bare({10, 10'000}));
  CHECK(gate.report_limits({.input_tokens = {600, 0}}) == "-");
  CHECK(gate.arrive("big", {.tokens = 5'000}) == "-");
  CHECK(gate.wake == at(60s));
  gate.now = at(60s);
  CHECK(gate.tick() == "granted big");
}

TEST_CASE("a limit that is not said again is forgotten, and those who waited for it start") {
  logged_gate gate(bare({10, 10'000}));
  CHECK(gate.report_limits({.requests = {.remaining = 0, .reset = 100h}}) == "-");
  CHECK(gate.arrive("a", {}) == "-");
  CHECK(gate.wake == at(10min));
  gate.now = at(10min);
  CHECK(gate.tick() == "granted a");
}

TEST_CASE("a wrong usage report leaves no debt for ages, neither with the provider nor with the tenant") {
  auto rules = bare({10, 10'000});
  rules.rates.input_tokens = {600, 600};
  rules.tenants.emplace_back("acme").rates.input_tokens = {300, 100};
  logged_gate gate(rules);
  const tenant acme("acme");
  CHECK(gate.arrive("a", {.tokens = 100}, interactive, {.tenant = acme}) == "granted a");
  CHECK(gate.finish("a", usage{std::int64_t{1} << 40, 0}) == "-");
  // Its 100 and one burst of 600 more: ten a second.
  CHECK(gate.arrive("b", {.tokens = 1}) == "-");
  CHECK(gate.explain("b").could_start == at(10'100ms));
  CHECK(gate.cancel("b") == "-");
  // Its 100 and one burst of 100 more, at five a second.
  gate.now = at(12s);
  CHECK(gate.arrive("c", {.tokens = 1}, interactive, {.tenant = acme}) == "-");
  CHECK(gate.explain("c").could_start == at(20'200ms));
}

TEST_CASE("a small one may pass a head that waits for what the provider said, and fits beside it") {
  auto rules = bare({10, 10'000});
  rules.bypass = {.passes = 1, .patience = 1h};
  logged_gate gate(rules);
  CHECK(gate.report_limits({.tokens = {600, 40}}) == "-");
  CHECK(gate.arrive("big", {.tokens = 200}) == "-");
  CHECK(gate.would({.tokens = 20}) == "at once");
  CHECK(gate.arrive("small", {.tokens = 20}) == "granted small");
  CHECK(gate.arrive("other", {.tokens = 10}) == "-");
}
