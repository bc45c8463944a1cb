/// \file
/// `arm`: one way to let work through to the provider. All that differs between the arms is here.
#pragma once

#include "options.hpp"

#include <sluice/core/error.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/core/policy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace contention {

/// A plain value.
class arm {
 public:
  arm(std::string arm_name, sluice::policy gate_rules) : name(std::move(arm_name)), rules(std::move(gate_rules)) {}

  std::string name;
  /// The policy of the client's gate.
  sluice::policy rules;
  /// So many calls at once, first come, first served, whoever they are; in front of the gate.
  std::optional<std::int64_t> plain_limit;
  /// Whether the agents are there, too.
  bool with_batch = true;
};

/// The names, in the order in which they are run: `alone`, `nothing`, `limit`, `sluice`.
[[nodiscard]] const std::vector<std::string>& arm_names();

/// The policy of the arm `sluice`, unless a file says otherwise; `policy.json` beside this says the same.
[[nodiscard]] sluice::policy sluice_policy();

/// A gate that lets everything through at once, and counts.
[[nodiscard]] sluice::policy open_policy();

/// A limit and nothing else: one class, first come, first served.
[[nodiscard]] sluice::policy plain_policy(std::int64_t slots);

/// The arms that the options ask for. Errors: the policy file's.
[[nodiscard]] sluice::expected<std::vector<arm>, sluice::error> make_arms(const options& asked);

}  // namespace contention
