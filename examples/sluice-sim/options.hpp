/// \file
/// The command line of sluice-sim.
#pragma once

#include "experiment.hpp"

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice_sim {

/// What is to be done.
struct options {
  /// Names of experiments, in the order asked for; all of them when none is named.
  std::vector<std::string> names;
  settings asked;
  /// Where the report goes; empty for none.
  std::filesystem::path report;
  /// Where the picture of E1 goes; empty for none.
  std::filesystem::path picture;
};

/// Why there is nothing to do: the text to print and the exit code.
struct no_options {
  std::string text;
  int exit_code = 0;
};

/// Reads the command line, and the policy file if one is named.
[[nodiscard]] sluice::expected<options, no_options> read_options(int argc, const char* const* argv);

}  // namespace sluice_sim
