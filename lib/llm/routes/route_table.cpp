#include "llm/routes/route_table.hpp"

#include <algorithm>
#include <utility>

namespace sluice::llm::detail {

route_table::route_table(std::vector<provider> providers, const router_options& options)
    : options_(options), random_(options.seed != 0 ? options.seed : std::random_device{}()) {
  entries_.reserve(providers.size());
  for (provider& each : providers) {
    provider_statistics counts;
    counts.name = each.name;
    entries_.push_back({std::move(each), provider_health(options.health), std::move(counts)});
  }
}

// Not a distribution of the standard library: those give other numbers with each implementation.
double route_table::draw() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

void route_table::shuffle(std::vector<std::size_t>& some) {
  for (auto next = some.begin(); next != some.end(); ++next) {
    double rest = 0;
    for (auto each = next; each != some.end(); ++each) rest += entries_[*each].what.weight;
    double at = draw() * rest;
    auto chosen = next;
    while (chosen + 1 != some.end() && at >= entries_[*chosen].what.weight) at -= entries_[*chosen++].what.weight;
    // The others keep their order.
    std::rotate(next, chosen, chosen + 1);
  }
}

// Those that are healthy; when none is, the one that rests for the shortest time.
std::vector<std::size_t> route_table::askable(const call_options& how, instant present) const {
  const bool bound = how.run != run_id{};
  std::vector<std::size_t> healthy;
  std::optional<std::size_t> soonest;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const entry& each = entries_[i];
    if (bound && &each.what.over.gate() != &gate()) continue;
    if (each.health.available(present)) healthy.push_back(i);
    if (!soonest || each.health.rests_until() < entries_[*soonest].health.rests_until()) soonest = i;
  }
  if (healthy.empty()) return {*soonest};
  return healthy;
}

std::vector<std::size_t> route_table::order(const call_options& how) {
  const instant present = now();
  const std::lock_guard lock(mutex_);
  auto some = askable(how, present);
  if (options_.order == routing::weighted) shuffle(some);
  if (how.kind == attempt::hedge) return {some[some.size() > 1 ? 1 : 0]};
  return some;
}

std::size_t route_table::first(const call_options& how) const {
  const instant present = now();
  const std::lock_guard lock(mutex_);
  const auto some = askable(how, present);
  return some[how.kind == attempt::hedge && some.size() > 1 ? 1 : 0];
}

std::optional<visit> route_table::begin(std::size_t which, bool anyway) {
  const instant present = now();
  const std::lock_guard lock(mutex_);
  entry& here = entries_[which];
  if (!anyway && !here.health.available(present)) return std::nullopt;
  ++here.counts.calls;
  return here.health.begin(present);
}

void route_table::answered(std::size_t which, const visit& of) {
  const instant present = now();
  const std::lock_guard lock(mutex_);
  entry& here = entries_[which];
  ++here.counts.answered;
  here.health.saw(of, evidence::answers, present, 0);
}

void route_table::failed(std::size_t which, const visit& of, const failure& why) {
  const instant present = now();
  const evidence what = evidence_of(why, present - of.begun, options_.health);
  const std::lock_guard lock(mutex_);
  entry& here = entries_[which];
  if (what == evidence::fails || what == evidence::refuses_all) ++here.counts.failed;
  if (here.health.saw(of, what, present, draw(), why.retry_after.value_or(duration::zero()))) ++here.counts.rests;
}

void route_table::lost(std::size_t which, const visit& of) noexcept {
  const std::lock_guard lock(mutex_);
  entries_[which].health.saw(of, evidence::none, instant{}, 0);
}

void route_table::broke(std::size_t which, instant begun, const failure& why) {
  visit of;
  of.begun = begun;
  failed(which, of, why);
}

void route_table::passed_on(std::size_t which) {
  const std::lock_guard lock(mutex_);
  ++entries_[which].counts.passed_on;
}

const std::string& route_table::model_at(std::size_t which, const std::string& logical) const noexcept {
  for (const auto& [name, own] : at(which).models) {
    if (name == logical) return own;
  }
  return logical;
}

std::vector<provider_statistics> route_table::statistics() const {
  const instant present = now();
  std::vector<provider_statistics> all;
  const std::lock_guard lock(mutex_);
  all.reserve(entries_.size());
  for (const entry& each : entries_) {
    all.push_back(each.counts);
    all.back().state = each.health.state(present);
  }
  return all;
}

}  // namespace sluice::llm::detail
