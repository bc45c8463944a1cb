#include <sluice/config/policy_file.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using namespace sluice;

namespace {

const std::string head = R"("capacity": {"slots": 32, "tokens": 200000})";

policy read(std::string_view rest) {
  auto made = read_policy("{" + head + ", " + std::string(rest) + "}");
  if (!made) FAIL(made.error().message());
  return *made;
}

std::string complaint(std::string_view rest) {
  const auto made = read_policy("{" + head + ", " + std::string(rest) + "}");
  return made ? std::string("fine") : made.error().message();
}

/// A valid policy in which no field has the value that it has by default: one that is not written would come back
/// changed.
policy all_changed() {
  policy made({40, 100'000});
  made.revision = 9;
  made.max_waiting = 123;
  made.max_preemptions = 3;
  made.max_tenants = 77;
  made.observe = true;
  made.explain_records = 64;
  made.rates = {.requests = {600, 20}, .input_tokens = {2'000'000, 5'000}, .output_tokens = {80'000, 900}};
  made.other_tenants.weight = 3;
  made.other_tenants.rates.requests = {60, 6};
  tenant_policy acme("acme");
  acme.weight = 2;
  acme.rates = {.requests = {300, 30}, .input_tokens = {unlimited, 7}, .output_tokens = {5, 1}};
  made.tenants = {acme, tenant_policy("a \"quoted\" name")};
  made.bypass = {.passes = 7, .patience = 1500us};
  made.feasibility = {.enabled = false, .service_share = 0.25, .wait_share = 0.7, .run_share = 0.3};
  made.overload = {.enabled = false, .enter = 0.1, .leave = 1.0 / 3 / 10, .window = 7s, .age_cap = 8s};
  made.adaptive = {.enabled = true, .minimum = 2, .initial = 12, .backoff = 0.6, .tolerance = 1.75, .window = 3s};
  made.retries = {.enabled = false, .share = 0.35, .minimum = 7, .window = 45s};
  made.reopening = {.share = 0.25, .least = 120ms, .most = 9s, .step = 1500us};
  model_price price("large");
  price.input_per_million = 300;
  price.output_per_million = 1'500;
  made.prices = {price, model_price("small")};
  class_policy& back = made[batch];
  back.priority = -2;
  back.floor = {3, 900};
  back.ceiling = {30, 50'000};
  back.preemptible = false;
  back.restore_within = 12'345'678ns;
  back.elastic = {.enabled = true, .minimum = 2, .backoff = 0.4, .target = 900ms, .window = 11ms, .pause = 13s};
  back.start_within = 17ms;
  back.largest_request = 800;
  back.max_waiting = 5;
  class_policy audit("audit");
  audit.ceiling = {2, unlimited};
  audit.preemptible = true;
  made.add_class(audit);
  made[interactive].floor = {20, 60'000};
  return made;
}

}  // namespace

TEST_CASE("what is written is read as the same policy") {
  for (const policy& one :
       {all_changed(), policy({32, 200'000}), policy({1, unlimited}), policy({unlimited, unlimited}), policy({0, 0})}) {
    const std::string text = write_policy(one);
    CAPTURE(text);
    const auto again = read_policy(text);
    REQUIRE_MESSAGE(again.has_value(), (again ? std::string() : again.error().message()));
    CHECK(*again == one);
    CHECK(write_policy(*again) == text);
  }
}

TEST_CASE("each field of the policy has its place in the text: one that is added does not compile here before it has") {
  // As many names as members; the text of each part has as many fields.
  const policy one = all_changed();
  const auto fields_of = [text = write_policy(one)](std::string_view part) {
    std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    at += part.size();
    std::size_t fields = 0;
    int depth = 1;
    for (; depth > 0; ++at) {
      depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      if (depth == 1 && text[at] == ':') ++fields;
    }
    return fields;
  };
  [[maybe_unused]] const auto& [total, classes, max_waiting, max_preemptions, rates, other_tenants, tenants,
                                max_tenants, bypass, feasibility, overload, adaptive, retries, reopening, prices,
                                observe, explain_records, revision] = one;
  CHECK(fields_of("{") == 18);
  [[maybe_unused]] const auto& [name, priority, floor, ceiling, preemptible, restore_within, start_within, elastic,
                                largest_request, class_max_waiting] = classes[1];
  CHECK(fields_of("\"batch\": {") == 10 - 1);
  [[maybe_unused]] const auto& [elastic_enabled, minimum, backoff, target, window, pause] = elastic;
  CHECK(fields_of("\"elastic\": {") == 6);
  [[maybe_unused]] const auto& [requests, input_tokens, output_tokens] = rates;
  CHECK(fields_of("\"rates\": {") == 3);
  [[maybe_unused]] const auto& [per_minute, burst] = requests;
  CHECK(fields_of("\"requests\": {") == 2);
  [[maybe_unused]] const auto& [tenant_name, weight, tenant_rates] = tenants[0];
  CHECK(fields_of("\"acme\": {") == 3 - 1);
  [[maybe_unused]] const auto& [passes, patience] = bypass;
  CHECK(fields_of("\"bypass\": {") == 2);
  [[maybe_unused]] const auto& [feasible, service_share, wait_share, run_share] = feasibility;
  CHECK(fields_of("\"feasibility\": {") == 4);
  [[maybe_unused]] const auto& [overload_enabled, enter, leave, overload_window, age_cap] = overload;
  CHECK(fields_of("\"overload\": {") == 5);
  [[maybe_unused]] const auto& [adaptive_enabled, adaptive_minimum, initial, adaptive_backoff, tolerance,
                                adaptive_window] = adaptive;
  CHECK(fields_of("\"adaptive\": {") == 6);
  [[maybe_unused]] const auto& [retries_enabled, retries_share, retries_minimum, retries_window] = retries;
  CHECK(fields_of("\"retries\": {") == 4);
  [[maybe_unused]] const auto& [reopening_share, least, most, step] = reopening;
  CHECK(fields_of("\"reopening\": {") == 4);
  [[maybe_unused]] const auto& [model_name, input_per_million, output_per_million] = prices[0];
  CHECK(fields_of("\"large\": {") == 3 - 1);
}

TEST_CASE("no bound on what waits, and the longest time, come back") {
  policy one({4, 100});
  one.max_waiting = std::numeric_limits<std::size_t>::max();
  one[batch].restore_within = duration::max();
  const auto again = read_policy(write_policy(one));
  REQUIRE(again);
  CHECK(*again == one);
}

TEST_CASE("the text is laid out for a person") {
  policy one({2, 100});
  const std::string text = write_policy(one);
  CHECK(
      text.starts_with("{\n  \"revision\": 1,\n  \"capacity\": {\"slots\": 2, \"tokens\": 100},\n  \"classes\": {\n"
                       "    \"interactive\": {\n      \"priority\": 100,\n"));
  CHECK(text.find("\n  \"tenants\": {},\n") != std::string::npos);
  CHECK(text.find("\n  \"bypass\": {\"passes\": 64, \"patience_ms\": 30000},\n") != std::string::npos);
  CHECK(text.find("\"wait_share\": 0.8,") != std::string::npos);
  CHECK(text.ends_with("\n  \"explain_records\": 256\n}\n"));
}

TEST_CASE("rates of the provider, of tenants, and of the others") {
  const policy made = read(R"("rates": {"requests": {"per_minute": 600, "burst": 20}, "output_tokens": {"burst": 5}},
    "tenants": {"acme": {"weight": 2, "rates": {"input_tokens": {"per_minute": 9}}}, "bcme": {}},
    "other_tenants": {"weight": 4, "rates": {"requests": {"per_minute": "unlimited", "burst": 3}}},
     "max_tenants": 12)");
  CHECK(made.rates == rate_limits{.requests = {600, 20}, .output_tokens = {unlimited, 5}});
  REQUIRE(made.tenants.size() == 2);
  CHECK(made.tenants[0].name == "acme");
  CHECK(made.tenants[0].weight == 2);
  CHECK(made.tenants[0].rates == rate_limits{.input_tokens = {9, 0}});
  CHECK(made.tenants[1] == tenant_policy("bcme"));
  CHECK(made.other_tenants.weight == 4);
  CHECK(made.other_tenants.rates == rate_limits{.requests = {unlimited, 3}});
  CHECK(made.max_tenants == 12);
}

TEST_CASE("what moves, what orders, and what it costs") {
  const policy made = read(R"("bypass": {"passes": 3}, "feasibility": {"enabled": false, "wait_share": 1},
    "overload": {"enter": 0.5, "leave": 2.5e-1, "window_ms": 0.5, "age_cap_ms": 9},
    "adaptive": {"enabled": true, "minimum": 3, "initial": 4, "backoff": 0.9, "tolerance": 2, "window_ms": 70},
    "retries": {"share": 0, "minimum": 9, "window_ms": 60000}, "reopening": {"least_ms": 0, "step_ms": 0.5},
    "prices": {"m": {"input_per_million": 3}}, "observe": true, "explain_records": 0,
    "classes": {"batch": {"elastic": {"enabled": true, "target_ms": 12}, "largest_request": 77}})");
  CHECK(made.bypass == bypass_policy{.passes = 3});
  CHECK(made.feasibility == feasibility_policy{.enabled = false, .wait_share = 1});
  CHECK(made.overload == overload_policy{.enter = 0.5, .leave = 0.25, .window = 500us, .age_cap = 9ms});
  CHECK(made.adaptive ==
        adaptive_policy{.enabled = true, .minimum = 3, .initial = 4, .backoff = 0.9, .tolerance = 2, .window = 70ms});
  CHECK(made.retries == retry_budget{.share = 0, .minimum = 9, .window = 1min});
  CHECK(made.reopening == reopening_policy{.least = 0s, .step = 500us});
  REQUIRE(made.prices.size() == 1);
  CHECK(made.prices[0].name == "m");
  CHECK(made.prices[0].input_per_million == 3);
  CHECK(made.prices[0].output_per_million == 0);
  CHECK(made.observe);
  CHECK(made.explain_records == 0);
  CHECK(made[batch].elastic.enabled);
  CHECK(made[batch].elastic.target == 12ms);
  CHECK(made[batch].largest_request == 77);
}

TEST_CASE("an unknown field is named by its whole path, with what is known there") {
  CHECK(complaint(R"("rate": {})") ==
        "rate: unknown field; known here are revision, capacity, classes, max_waiting, max_preemptions, rates, "
        "other_tenants, tenants, max_tenants, bypass, feasibility, overload, adaptive, retries, reopening, prices, "
        "observe, "
        "explain_records");
  CHECK(complaint(R"("classes": {"batch": {"elastic": {"window": 3}}})") ==
        "classes.batch.elastic.window: unknown field; known here are enabled, minimum, backoff, target_ms, window_ms, "
        "pause_ms");
  CHECK(complaint(R"("tenants": {"a.b": {"rates": {"requests": {"per_second": 3}}}})") ==
        "tenants.\"a.b\".rates.requests.per_second: unknown field; known here are per_minute, burst");
  CHECK(complaint(R"("tenants": {"a": {"name": "b"}})") ==
        "tenants.a.name: unknown field; known here are weight, rates");
  CHECK(complaint(R"("rates": {"tokens": {}})") ==
        "rates.tokens: unknown field; known here are requests, input_tokens, output_tokens");
  CHECK(complaint(R"("prices": {"m": {"cached": 1}})") ==
        "prices.m.cached: unknown field; known here are input_per_million, output_per_million");
  CHECK(complaint(R"("retries": {"maximum": 1})") ==
        "retries.maximum: unknown field; known here are enabled, share, minimum, window_ms");
  CHECK(complaint(R"("reopening": {"step": 1})") ==
        "reopening.step: unknown field; known here are share, least_ms, most_ms, step_ms");
  CHECK(complaint(R"("adaptive": {"max": 1})") ==
        "adaptive.max: unknown field; known here are enabled, minimum, initial, backoff, tolerance, window_ms");
}

TEST_CASE("a bad value is named by its whole path") {
  CHECK(complaint(R"("tenants": 3)") == "tenants: must be an object with an object for each tenant, is 3");
  CHECK(complaint(R"("prices": true)") == "prices: must be an object with an object for each model, is true");
  CHECK(complaint(R"("tenants": {"a": 1})") == "tenants.a: must be an object, is 1");
  CHECK(complaint(R"("tenants": {"a": {}, "a": {}})") == "tenants.a: stands twice");
  CHECK(complaint(R"("tenants": {"a": {"rates": {"requests": 60}}})") ==
        "tenants.a.rates.requests: must be an object with per_minute, burst, is 60");
  CHECK(complaint(R"("tenants": {"a": {"rates": {"requests": {"burst": "unlimited"}}}})") ==
        "tenants.a.rates.requests.burst: must be a whole number, is \"unlimited\"");
  CHECK(complaint(R"("overload": {"enter": "2%"})") == "overload.enter: must be a number, is \"2%\"");
  CHECK(complaint(R"("overload": {"enter": 1e999})") == "overload.enter: does not fit, is 1e999");
  CHECK(complaint(R"("classes": {"batch": {"elastic": {"backoff": []}}})") ==
        "classes.batch.elastic.backoff: must not be an array");
  CHECK(complaint(R"("observe": 1)") == "observe: must be true or false, is 1");
  CHECK(complaint(R"("prices": {"m": {"input_per_million": 0.5}})") ==
        "prices.m.input_per_million: must be a whole number, is 0.5");
  CHECK(complaint(R"("rates": {"requests": {"per_minute": {"x": 1}}})") ==
        "rates.requests.per_minute: must be a whole number, is an object");
  CHECK(complaint(R"("tenants": {"a": {"rates": {"requests": {"per_minute": {}}}}})") ==
        "tenants.a.rates.requests.per_minute: must not be an object");
}
