/// \file
/// How much a trace asks of a provider, and a provider for which that is a given load.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/sim/provider_model.hpp>
#include <sluice/sim/trace.hpp>

#include <vector>

namespace sluice_sim {

/// From the first arrival to the last. Precondition: not empty.
[[nodiscard]] sluice::duration span_of(const std::vector<sluice::sim::trace_request>& trace);

/// The work of a trace in its span, as a share of what the provider carries with all its slots taken.
[[nodiscard]] double load_of(const std::vector<sluice::sim::trace_request>& trace,
                             const sluice::sim::provider_model& provider);

/// The same provider, but with both of its rates such that the trace is this load to it.
[[nodiscard]] sluice::sim::provider_model at_load(const std::vector<sluice::sim::trace_request>& trace,
                                                  sluice::sim::provider_model provider, double load);

}  // namespace sluice_sim
