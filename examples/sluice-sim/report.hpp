/// \file
/// The results of a run of sluice-sim as one HTML page: tables, bars and plots, with nothing to fetch from anywhere.
#pragma once

#include "experiment.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice_sim {

/// An experiment that has been run.
struct finished {
  std::string name;
  std::string description;
  result what;
};

/// The page. Any text in it is escaped.
[[nodiscard]] std::string report_page(const std::vector<finished>& all);

/// The page, as a file. Throws `sluice::error_exception` when it cannot be written.
void write_report(const std::filesystem::path& file, const std::vector<finished>& all);

}  // namespace sluice_sim
