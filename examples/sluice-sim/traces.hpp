/// \file
/// Where the experiments' traffic comes from: trace files, or generated traces when there are none.
#pragma once

#include "experiment.hpp"

#include <sluice/sim/trace.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice_sim {

/// Where traces are looked for unless the user says otherwise.
[[nodiscard]] std::filesystem::path default_traces();

/// `replay/seed-N.csv` under the traces, or `seed-N.csv` there; generated, with a note, when neither is there. Throws
/// `sluice::error_exception` for a file that does not read.
[[nodiscard]] std::vector<sluice::sim::trace_request> replay_trace(const settings& asked, std::uint64_t seed,
                                                                   std::vector<std::string>& notes);

/// `azure/conv.csv` as interactive and `azure/code.csv` as batch work, from one clock.
[[nodiscard]] std::vector<sluice::sim::trace_request> azure_trace(const settings& asked, std::uint64_t seed,
                                                                  std::vector<std::string>& notes);

}  // namespace sluice_sim
