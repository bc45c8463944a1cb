/// \file
/// The fields of a policy as JSON names them, each said once: the reader and the writer both walk this table.
///
/// A walker has one function for each kind of field: `flag`, `number` (a whole one from `least` to `greatest`),
/// `amount` (which may be "unlimited"), `fraction`, `time` (in milliseconds), `object`, and `named` (an object with an
/// object for each name).
#pragma once

#include <sluice/core/policy.hpp>

#include <cstdint>
#include <limits>

namespace sluice::config {

inline constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

template <typename Walker, typename Capacity>
void walk_floor(Walker& walker, Capacity& part) {
  walker.number("slots", part.slots, 0, most);
  walker.number("tokens", part.tokens, 0, most);
}

template <typename Walker, typename Capacity>
void walk_ceiling(Walker& walker, Capacity& part) {
  walker.amount("slots", part.slots);
  walker.amount("tokens", part.tokens);
}

template <typename Walker, typename Elastic>
void walk_elastic(Walker& walker, Elastic& elastic) {
  walker.flag("enabled", elastic.enabled);
  walker.number("minimum", elastic.minimum, 0, most);
  walker.fraction("backoff", elastic.backoff);
  walker.time("target_ms", elastic.target);
  walker.time("window_ms", elastic.window);
  walker.time("pause_ms", elastic.pause);
}

template <typename Walker, typename Class>
void walk_class(Walker& walker, Class& one) {
  walker.number("priority", one.priority, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  walker.object("floor", one.floor, [](auto& inside, auto& part) { walk_floor(inside, part); });
  walker.object("ceiling", one.ceiling, [](auto& inside, auto& part) { walk_ceiling(inside, part); });
  walker.flag("preemptible", one.preemptible);
  walker.time("restore_within_ms", one.restore_within);
  walker.time("start_within_ms", one.start_within);
  walker.object("elastic", one.elastic, [](auto& inside, auto& part) { walk_elastic(inside, part); });
  walker.number("largest_request", one.largest_request, 0, most);
  walker.amount("max_waiting", one.max_waiting);
}

template <typename Walker, typename Rate>
void walk_rate(Walker& walker, Rate& rate) {
  walker.amount("per_minute", rate.per_minute);
  walker.number("burst", rate.burst, 0, most);
}

template <typename Walker, typename Rates>
void walk_rates(Walker& walker, Rates& rates) {
  const auto one = [](auto& inside, auto& rate) { walk_rate(inside, rate); };
  walker.object("requests", rates.requests, one);
  walker.object("input_tokens", rates.input_tokens, one);
  walker.object("output_tokens", rates.output_tokens, one);
}

template <typename Walker, typename Tenant>
void walk_tenant(Walker& walker, Tenant& tenant) {
  walker.number("weight", tenant.weight, 0, most);
  walker.object("rates", tenant.rates, [](auto& inside, auto& rates) { walk_rates(inside, rates); });
}

template <typename Walker, typename Bypass>
void walk_bypass(Walker& walker, Bypass& bypass) {
  walker.number("passes", bypass.passes, 0, most);
  walker.time("patience_ms", bypass.patience);
}

template <typename Walker, typename Feasibility>
void walk_feasibility(Walker& walker, Feasibility& feasibility) {
  walker.flag("enabled", feasibility.enabled);
  walker.fraction("service_share", feasibility.service_share);
  walker.fraction("wait_share", feasibility.wait_share);
  walker.fraction("run_share", feasibility.run_share);
}

template <typename Walker, typename Overload>
void walk_overload(Walker& walker, Overload& overload) {
  walker.flag("enabled", overload.enabled);
  walker.fraction("enter", overload.enter);
  walker.fraction("leave", overload.leave);
  walker.time("window_ms", overload.window);
  walker.time("age_cap_ms", overload.age_cap);
}

template <typename Walker, typename Adaptive>
void walk_adaptive(Walker& walker, Adaptive& adaptive) {
  walker.flag("enabled", adaptive.enabled);
  walker.number("minimum", adaptive.minimum, 0, most);
  walker.number("initial", adaptive.initial, 0, most);
  walker.fraction("backoff", adaptive.backoff);
  walker.fraction("tolerance", adaptive.tolerance);
  walker.time("window_ms", adaptive.window);
}

template <typename Walker, typename Retries>
void walk_retries(Walker& walker, Retries& retries) {
  walker.flag("enabled", retries.enabled);
  walker.fraction("share", retries.share);
  walker.number("minimum", retries.minimum, 0, most);
  walker.time("window_ms", retries.window);
}

template <typename Walker, typename Reopening>
void walk_reopening(Walker& walker, Reopening& reopening) {
  walker.fraction("share", reopening.share);
  walker.time("least_ms", reopening.least);
  walker.time("most_ms", reopening.most);
  walker.time("step_ms", reopening.step);
}

template <typename Walker, typename Price>
void walk_price(Walker& walker, Price& price) {
  walker.number("input_per_million", price.input_per_million, 0, most);
  walker.number("output_per_million", price.output_per_million, 0, most);
}

template <typename Walker, typename Policy>
void walk_policy(Walker& walker, Policy& rules) {
  walker.number("revision", rules.revision, 0, most);
  walker.object("capacity", rules.total, [](auto& inside, auto& total) { walk_ceiling(inside, total); });
  walker.named("classes", "class", rules.classes, [](auto& inside, auto& one) { walk_class(inside, one); });
  walker.amount("max_waiting", rules.max_waiting);
  walker.number("max_preemptions", rules.max_preemptions, 0, std::numeric_limits<int>::max());
  walker.object("rates", rules.rates, [](auto& inside, auto& rates) { walk_rates(inside, rates); });
  const auto each_tenant = [](auto& inside, auto& tenant) { walk_tenant(inside, tenant); };
  walker.object("other_tenants", rules.other_tenants, each_tenant);
  walker.named("tenants", "tenant", rules.tenants, each_tenant);
  walker.number("max_tenants", rules.max_tenants, 0, most);
  walker.object("bypass", rules.bypass, [](auto& inside, auto& bypass) { walk_bypass(inside, bypass); });
  walker.object("feasibility", rules.feasibility, [](auto& inside, auto& part) { walk_feasibility(inside, part); });
  walker.object("overload", rules.overload, [](auto& inside, auto& overload) { walk_overload(inside, overload); });
  walker.object("adaptive", rules.adaptive, [](auto& inside, auto& adaptive) { walk_adaptive(inside, adaptive); });
  walker.object("retries", rules.retries, [](auto& inside, auto& retries) { walk_retries(inside, retries); });
  walker.object("reopening", rules.reopening, [](auto& inside, auto& part) { walk_reopening(inside, part); });
  walker.named("prices", "model", rules.prices, [](auto& inside, auto& price) { walk_price(inside, price); });
  walker.flag("observe", rules.observe);
  walker.number("explain_records", rules.explain_records, 0, most);
}

}  // namespace sluice::config
