#include <sluice/sim/summary.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace sluice::sim {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

double in_seconds(duration length) { return std::chrono::duration<double>(length).count(); }

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? nothing : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return nothing;
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  const auto chosen = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size() - 1));
  std::nth_element(values.begin(), chosen, values.end());
  return *chosen;
}

summary summarise(const std::vector<visit>& visits, workload of) {
  return summarise(visits, of, instant::min(), never);
}

summary summarise(const std::vector<visit>& visits, workload of, instant from, instant until) {
  using namespace std::chrono_literals;
  summary all;
  std::uint64_t good = 0;
  std::uint64_t prompt = 0;
  std::vector<double> latencies;
  std::vector<double> first_tokens;
  for (const visit& each : visits) {
    if (each.workload != of) continue;
    ++all.requests;
    all.rejections += each.rejections;
    all.refusals += each.refusals;
    all.preemptions += each.preemptions;
    all.wasted_tokens += each.wasted_tokens;
    if (!each.succeeded) continue;
    ++all.succeeded;
    const bool soon = each.time_to_first_token() <= 5s;
    if (soon) ++prompt;
    if (soon && each.latency() <= 30s) ++good;
    if (each.end < from || each.end > until) continue;
    latencies.push_back(in_seconds(each.latency()));
    first_tokens.push_back(in_seconds(each.time_to_first_token()));
  }
  all.success = share(all.succeeded, all.requests);
  all.good = share(good, all.requests);
  all.prompt = share(prompt, all.requests);
  all.latency_p50 = percentile(latencies, 0.5);
  all.latency_p95 = percentile(std::move(latencies), 0.95);
  all.first_token_p50 = percentile(first_tokens, 0.5);
  all.first_token_p95 = percentile(std::move(first_tokens), 0.95);
  return all;
}

double served_within(const std::vector<visit>& visits, workload of, duration limit) {
  std::uint64_t requests = 0;
  std::uint64_t served = 0;
  for (const visit& each : visits) {
    if (each.workload != of) continue;
    ++requests;
    if (each.succeeded && each.latency() <= limit) ++served;
  }
  return share(served, requests);
}

spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double each) { return std::isnan(each); });
  if (values.empty()) return {nothing, nothing, nothing};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {median, values.front(), values.back()};
}

}  // namespace sluice::sim
