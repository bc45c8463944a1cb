// Every number of a policy, refused by its field's name with what it is and what it must be.
#include <sluice/core/policy.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <string>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

/// What `validate` says about a default policy over 32 slots and 1,000 tokens after `change`.
template <typename Change>
std::string complaint(Change change) {
  policy checked({32, 1'000});
  change(checked);
  const auto done = validate(checked);
  if (done) return "fine";
  CHECK(done.error().is(errc::invalid_configuration));
  CHECK(done.error().message().find('\n') == std::string::npos);
  return done.error().message();
}

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a floor funds at least one request: slots and tokens, or neither") {
  CHECK(complaint([](policy& p) {
          p[batch].floor = {4, 0};
        }) ==
        "classes.batch.floor.tokens: 0 tokens beside 4 slots fund no request; raise it or lower "
        "classes.batch.floor.slots to 0");
  CHECK(complaint([](policy& p) {
          p[batch].floor = {0, 125};
        }) ==
        "classes.batch.floor.slots: 0 slots beside 125 tokens fund no request; raise it or lower "
        "classes.batch.floor.tokens to 0");
  CHECK(complaint([](policy& p) { p[batch].floor = {}; }) == "fine");
  CHECK(complaint([](policy& p) { p[batch].floor = {1, 1}; }) == "fine");
  // On an axis without a limit there is nothing to keep.
  CHECK(complaint([](policy& p) {
          p.total.tokens = unlimited;
          p[batch].floor = {4, 0};
        }) == "fine");
  CHECK(complaint([](policy& p) {
          p.total.slots = unlimited;
          p[batch].floor = {0, 125};
        }) == "fine");
}

TEST_CASE("a floor, a ceiling and a pool fund the largest request of their class") {
  CHECK(complaint([](policy& p) { p[batch].largest_request = -1; }) ==
        "classes.batch.largest_request: must not be negative, is -1");
  CHECK(complaint([](policy& p) { p[batch].largest_request = 126; }) ==
        "classes.batch.floor.tokens: 125 do not fund one request of 126; raise it or lower "
        "classes.batch.largest_request");
  CHECK(complaint([](policy& p) { p[batch].largest_request = 125; }) == "fine");
  CHECK(complaint([](policy& p) {
          p[batch].floor = {};
          p[batch].ceiling.tokens = 300;
          p[batch].largest_request = 301;
        }) ==
        "classes.batch.ceiling.tokens: 300 do not fund one request of 301; raise it or lower "
        "classes.batch.largest_request");
  // A class that is closed funds nothing, and need not.
  CHECK(complaint([](policy& p) {
          p[batch].floor = {};
          p[batch].ceiling = {0, 0};
          p[batch].largest_request = 301;
        }) == "fine");
  CHECK(complaint([](policy& p) {
          p[batch].floor = {};
          p[batch].largest_request = 1'001;
        }) == "capacity.tokens: 1000 do not fund one request of 1001; raise it or lower classes.batch.largest_request");
  CHECK(complaint([](policy& p) {
          p[batch].floor = {};
          p[batch].largest_request = 1'000;
        }) == "fine");
}

TEST_CASE("each slot has at least one token, unless the pool is closed") {
  const auto of = [](capacity total) {
    return complaint([total](policy& p) {
      p.total = total;
      p[interactive].floor = p[batch].floor = {};
    });
  };
  CHECK(of({32, 31}) == "capacity.tokens: 31 do not fund 32 slots; raise it or lower capacity.slots");
  CHECK(of({32, 32}) == "fine");
  CHECK(of({32, 0}) == "fine");
  CHECK(of({unlimited, 5}) == "fine");
}

TEST_CASE("elastic classes") {
  CHECK(complaint([](policy& p) { p[batch].elastic.minimum = 0; }) ==
        "classes.batch.elastic.minimum: must be at least 1, is 0");
  for (const double value : {0.0, 1.0, -0.5, 1.5}) {
    CHECK(complaint([value](policy& p) {
            p[batch].elastic.backoff = value;
          }).starts_with("classes.batch.elastic.backoff: must be above 0 and below 1, is "));
  }
  CHECK(complaint([](policy& p) { p[batch].elastic.backoff = no_number; }) ==
        "classes.batch.elastic.backoff: must be above 0 and below 1, is nan");
  CHECK(complaint([](policy& p) { p[batch].elastic.target = 0ns; }) ==
        "classes.batch.elastic.target: must be above zero, is 0 ns");
  CHECK(complaint([](policy& p) { p[batch].elastic.window = -1ns; }) ==
        "classes.batch.elastic.window: must be above zero, is -1 ns");
  CHECK(complaint([](policy& p) { p[batch].elastic.pause = -1ns; }) ==
        "classes.batch.elastic.pause: must not be negative, is -1 ns");
  CHECK(complaint([](policy& p) { p[batch].start_within = -1ns; }) ==
        "classes.batch.start_within: must not be negative, is -1 ns");
}

TEST_CASE("rates of the provider, of a tenant, and of the others") {
  CHECK(complaint([](policy& p) { p.rates.requests.per_minute = 0; }) ==
        "rates.requests.per_minute: must be at least 1, is 0");
  CHECK(complaint([](policy& p) { p.rates.input_tokens.burst = -1; }) ==
        "rates.input_tokens.burst: must not be negative, is -1");
  CHECK(complaint([](policy& p) { p.rates.output_tokens.per_minute = -3; }) ==
        "rates.output_tokens.per_minute: must be at least 1, is -3");
  CHECK(complaint([](policy& p) { p.tenants.emplace_back("acme").rates.input_tokens.per_minute = 0; }) ==
        "tenants.acme.rates.input_tokens.per_minute: must be at least 1, is 0");
  CHECK(complaint([](policy& p) { p.other_tenants.rates.output_tokens.burst = -9; }) ==
        "other_tenants.rates.output_tokens.burst: must not be negative, is -9");
  CHECK(complaint([](policy& p) { p.rates = {.requests = {1, 0}, .input_tokens = {unlimited, 4}}; }) == "fine");
}

TEST_CASE("tenants: names and weights, and how many") {
  CHECK(complaint([](policy& p) { p.tenants.emplace_back("a").weight = 0; }) ==
        "tenants.a.weight: must be 1 to 1000, is 0");
  CHECK(complaint([](policy& p) { p.tenants.emplace_back("a").weight = 1'001; }) ==
        "tenants.a.weight: must be 1 to 1000, is 1001");
  CHECK(complaint([](policy& p) { p.tenants.emplace_back("a").weight = 1'000; }) == "fine");
  CHECK(complaint([](policy& p) { p.other_tenants.weight = 0; }) == "other_tenants.weight: must be 1 to 1000, is 0");
  CHECK(complaint([](policy& p) {
          p.tenants = {tenant_policy("b"), tenant_policy("a"), tenant_policy("b")};
        }) == "tenants[2].name: 'b' is the name of tenants[0] already; names must be unique");
  CHECK(complaint([](policy& p) { p.tenants.emplace_back(""); }) == "tenants[0].name: must not be empty");
  CHECK(complaint([](policy& p) { p.tenants.emplace_back(std::string(65, 't')); }) ==
        "tenants[0].name: 65 bytes long, at most 64 are allowed");
  CHECK(complaint([](policy& p) { p.tenants.emplace_back("a\tb"); }) ==
        "tenants[0].name: must not hold control characters");
  CHECK(complaint([](policy& p) { p.max_tenants = 0; }) == "max_tenants: must be 1 to 1000000, is 0");
  CHECK(complaint([](policy& p) { p.max_tenants = 1'000'001; }) == "max_tenants: must be 1 to 1000000, is 1000001");
  CHECK(complaint([](policy& p) {
          p.max_tenants = std::numeric_limits<std::size_t>::max();
        }).starts_with("max_tenants: must be 1 to 1000000, is "));
  CHECK(complaint([](policy& p) { p.max_tenants = 1'000'000; }) == "fine");
}

TEST_CASE("bypass, feasibility and overload") {
  CHECK(complaint([](policy& p) { p.bypass.passes = -1; }) == "bypass.passes: must not be negative, is -1");
  CHECK(complaint([](policy& p) { p.bypass.patience = -5ns; }) == "bypass.patience: must not be negative, is -5 ns");
  CHECK(complaint([](policy& p) { p.feasibility.service_share = -0.5; }) ==
        "feasibility.service_share: must be 0 to 1, is -0.5");
  CHECK(complaint([](policy& p) { p.feasibility.service_share = no_number; }) ==
        "feasibility.service_share: must be 0 to 1, is nan");
  CHECK(complaint([](policy& p) { p.feasibility.service_share = 0; }) == "fine");
  CHECK(complaint([](policy& p) { p.feasibility.wait_share = 0; }) ==
        "feasibility.wait_share: must be above 0 and at most 1, is 0");
  CHECK(complaint([](policy& p) { p.feasibility.wait_share = 1.25; }) ==
        "feasibility.wait_share: must be above 0 and at most 1, is 1.25");
  CHECK(complaint([](policy& p) { p.feasibility.run_share = no_number; }) ==
        "feasibility.run_share: must be 0 to 1, is nan");
  CHECK(complaint([](policy& p) { p.feasibility.run_share = 1.01; }) ==
        "feasibility.run_share: must be 0 to 1, is 1.01");
  CHECK(complaint([](policy& p) { p.overload.enter = 1.5; }) ==
        "overload.enter: must be above 0 and at most 1, is 1.5");
  CHECK(complaint([](policy& p) { p.overload.leave = -0.01; }) == "overload.leave: must be 0 to 1, is -0.01");
  CHECK(complaint([](policy& p) { p.overload.leave = no_number; }) == "overload.leave: must be 0 to 1, is nan");
  CHECK(complaint([](policy& p) { p.overload.leave = 0.02; }) ==
        "overload.leave: 0.02 is not below overload.enter, which is 0.02; lower it or raise overload.enter");
  CHECK(complaint([](policy& p) { p.overload.leave = 0; }) == "fine");
  CHECK(complaint([](policy& p) { p.overload.window = 0ns; }) == "overload.window: must be above zero, is 0 ns");
  CHECK(complaint([](policy& p) { p.overload.age_cap = -1ns; }) == "overload.age_cap: must not be negative, is -1 ns");
}

TEST_CASE("the limit that follows the provider") {
  CHECK(complaint([](policy& p) { p.adaptive.minimum = 0; }) == "adaptive.minimum: must be at least 1, is 0");
  CHECK(complaint([](policy& p) { p.adaptive.initial = -1; }) == "adaptive.initial: must not be negative, is -1");
  CHECK(complaint([](policy& p) {
          p.adaptive.minimum = 5;
          p.adaptive.initial = 4;
        }) == "adaptive.initial: 4 is below adaptive.minimum, which is 5; raise it, or lower adaptive.minimum");
  CHECK(complaint([](policy& p) { p.adaptive.backoff = 1; }) == "adaptive.backoff: must be above 0 and below 1, is 1");
  CHECK(complaint([](policy& p) { p.adaptive.tolerance = 1; }) == "adaptive.tolerance: must be 0, or above 1, is 1");
  CHECK(complaint([](policy& p) { p.adaptive.tolerance = -2; }) == "adaptive.tolerance: must be 0, or above 1, is -2");
  CHECK(complaint([](policy& p) { p.adaptive.tolerance = no_number; }) ==
        "adaptive.tolerance: must be 0, or above 1, is nan");
  CHECK(complaint([](policy& p) { p.adaptive.tolerance = 1.5; }) == "fine");
  CHECK(complaint([](policy& p) { p.adaptive.window = 0ns; }) == "adaptive.window: must be above zero, is 0 ns");
}

TEST_CASE("prices and records") {
  CHECK(complaint([](policy& p) { p.prices.emplace_back("m").input_per_million = -1; }) ==
        "prices.m.input_per_million: must not be negative, is -1");
  CHECK(complaint([](policy& p) { p.prices.emplace_back("m").output_per_million = -2; }) ==
        "prices.m.output_per_million: must not be negative, is -2");
  CHECK(complaint([](policy& p) {
          p.prices = {model_price("m"), model_price("m")};
        }) == "prices[1].name: 'm' is the name of prices[0] already; names must be unique");
  CHECK(complaint([](policy& p) { p.prices.emplace_back(""); }) == "prices[0].name: must not be empty");
  CHECK(complaint([](policy& p) { p.explain_records = 1'048'577; }) ==
        "explain_records: must be at most 1048576, is 1048577");
  CHECK(complaint([](policy& p) { p.explain_records = 1'048'576; }) == "fine");
}

TEST_CASE("a hundred thousand tenants are checked in a moment, and the one that stands twice is found") {
  policy many({32, 1'000});
  for (int i = 0; i < 100'000; ++i) many.tenants.emplace_back("t" + std::to_string(i));
  CHECK(validate(many).has_value());
  many.tenants.emplace_back("t77777");
  CHECK(validate(many).error().message() ==
        "tenants[100000].name: 't77777' is the name of tenants[77777] already; names must be unique");
}

TEST_CASE("the share, the minimum and the window of retries") {
  CHECK(complaint([](policy& p) { p.retries.share = -0.1; }) == "retries.share: must be 0 to 1, is -0.1");
  CHECK(complaint([](policy& p) { p.retries.share = 1.5; }) == "retries.share: must be 0 to 1, is 1.5");
  CHECK(complaint([](policy& p) { p.retries.share = no_number; }) == "retries.share: must be 0 to 1, is nan");
  CHECK(complaint([](policy& p) { p.retries.share = 0; }) == "fine");
  CHECK(complaint([](policy& p) { p.retries.share = 1; }) == "fine");
  CHECK(complaint([](policy& p) { p.retries.minimum = -1; }) == "retries.minimum: must not be negative, is -1");
  CHECK(complaint([](policy& p) { p.retries.minimum = 0; }) == "fine");
  CHECK(complaint([](policy& p) { p.retries.window = 0s; }) == "retries.window: must be above zero, is 0 ns");
  CHECK(complaint([](policy& p) { p.retries.window = 1ns; }) == "fine");
}

TEST_CASE("the share, the bounds and the step of a reopening") {
  CHECK(complaint([](policy& p) { p.reopening.share = 1.1; }) == "reopening.share: must be 0 to 1, is 1.1");
  CHECK(complaint([](policy& p) { p.reopening.share = no_number; }) == "reopening.share: must be 0 to 1, is nan");
  CHECK(complaint([](policy& p) { p.reopening.least = -1ns; }) == "reopening.least: must not be negative, is -1 ns");
  CHECK(complaint([](policy& p) {
          p.reopening.least = 0s;
          p.reopening.most = -1ns;
        }) == "reopening.most: must not be negative, is -1 ns");
  CHECK(complaint([](policy& p) { p.reopening.step = -1ns; }) == "reopening.step: must not be negative, is -1 ns");
  CHECK(complaint([](policy& p) { p.reopening.most = 200ms; }) ==
        "reopening.least: 250000000 ns is above reopening.most, which is 200000000 ns; lower it, or raise "
        "reopening.most");
  CHECK(complaint([](policy& p) { p.reopening = {.share = 0, .least = 0s, .most = 0s, .step = 0s}; }) == "fine");
}
