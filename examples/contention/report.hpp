/// \file
/// What the experiment says in the end: the table, and one sentence on it.
#pragma once

#include "experiment.hpp"
#include "options.hpp"

#include <string>
#include <vector>

namespace contention {

/// One line about an arm that has just ended: how long it took, and that every permit came back.
[[nodiscard]] std::string arm_line(const arm_result& result);

/// A row for each arm and class. `failures` beneath it, when there are any.
[[nodiscard]] std::string result_table(const std::vector<arm_result>& results, const options& asked);

/// What the table shows, in one sentence, from its figures; also when that is nothing to be proud of.
[[nodiscard]] std::string verdict(const std::vector<arm_result>& results);

}  // namespace contention
