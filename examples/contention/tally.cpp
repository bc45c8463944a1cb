#include "tally.hpp"

#include <algorithm>
#include <cmath>

namespace contention {

double percentile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto rank = std::ceil(q * static_cast<double>(values.size()));
  const auto index = std::min(values.size() - 1, static_cast<std::size_t>(std::max(rank - 1, 0.0)));
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

void tally::attempt_failed(const sluice::llm::failure& why) {
  if (why.is(sluice::errc::rate_limited)) ++too_many;
  if (why.refusal) ++refused;
  // What a preemption cost is in the gate's accounts.
  if (why.partial && !why.is(sluice::errc::preempted)) {
    broken_tokens += why.partial->usage.input_tokens + why.partial->usage.output_tokens;
  }
}

void tally::piece_succeeded(double latency) {
  ++succeeded;
  latencies.push_back(latency);
}

void tally::piece_failed(const sluice::llm::failure& why) {
  ++failed;
  ++failures[why.code().message()];
}

double tally::success() const {
  return started == 0 ? 1 : static_cast<double>(succeeded) / static_cast<double>(started);
}

}  // namespace contention
