#include "load.hpp"

#include <chrono>

namespace sluice_sim {

sluice::duration span_of(const std::vector<sluice::sim::trace_request>& trace) {
  return trace.back().arrival - trace.front().arrival;
}

double load_of(const std::vector<sluice::sim::trace_request>& trace, const sluice::sim::provider_model& provider) {
  double work = 0;
  for (const auto& each : trace) {
    work += static_cast<double>(each.attempts[0].input_tokens) / provider.prompt_rate +
            static_cast<double>(each.attempts[0].output_tokens) / provider.output_rate;
  }
  return work / (std::chrono::duration<double>(span_of(trace)).count() * provider.speedup(provider.slots));
}

sluice::sim::provider_model at_load(const std::vector<sluice::sim::trace_request>& trace,
                                    sluice::sim::provider_model provider, double load) {
  const double factor = load_of(trace, provider) / load;
  provider.prompt_rate *= factor;
  provider.output_rate *= factor;
  return provider;
}

}  // namespace sluice_sim
