/// \file
/// `sim::summary`: the figures of a trial: how many succeeded, how long it took, what it cost; and `sim::spread`, the
/// same figure over several seeds.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/core/workload.hpp>
#include <sluice/sim/visit.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace sluice::sim {

/// The value at rank `floor(share * n)`, counted from 0, of the sorted values; not a number when there are none.
/// Precondition: `0 <= share <= 1`. O(n).
[[nodiscard]] double percentile(std::vector<double> values, double share);

/// What a set of requests lived through. Times are in seconds, shares between 0 and 1; a figure over an empty set is not
/// a number.
struct summary {
  std::uint64_t requests = 0;
  std::uint64_t succeeded = 0;
  double success = 0;
  /// Over those that succeeded, from their arrival.
  double latency_p50 = 0;
  double latency_p95 = 0;
  double first_token_p50 = 0;
  double first_token_p95 = 0;
  /// 429s of the provider, and attempts turned away before it.
  std::uint64_t rejections = 0;
  std::uint64_t refusals = 0;
  std::uint64_t preemptions = 0;
  /// What the provider did that came to nothing.
  std::int64_t wasted_tokens = 0;
  /// Of all, failed ones included: a first token within 5 s and the end within 30 s; and the first of the two alone.
  double good = 0;
  double prompt = 0;
};

/// Of the requests of one class.
[[nodiscard]] summary summarise(const std::vector<visit>& visits, workload of);

/// The same with the four times taken only over those that ended from `from` to `until`, as someone sees them who watches a
/// window. The other figures are of all.
[[nodiscard]] summary summarise(const std::vector<visit>& visits, workload of, instant from, instant until);

/// The share of a class that succeeded within `limit` of its arrival.
[[nodiscard]] double served_within(const std::vector<visit>& visits, workload of, duration limit);

/// A figure over several seeds. Of an even number of values, the median is the mean of the two in the middle. Values
/// that are no numbers are left out; without any, all three are none.
struct spread {
  double median = 0;
  double least = 0;
  double most = 0;
};
[[nodiscard]] spread spread_of(std::vector<double> values);

}  // namespace sluice::sim
