/// \file
/// What has started for the first time, and what again: a list, which is added up each time.
#pragma once

#include "core/wide.hpp"

#include <sluice/core/attempt.hpp>
#include <sluice/core/time.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace sluice::core::testing {

class plain_retries {
 public:
  void configure(const retry_budget& rules) {
    if (rules.window != rules_.window || rules.enabled != rules_.enabled) started_.clear();
    rules_ = rules;
  }

  void start(std::int64_t tokens, bool fresh, instant now) {
    if (rules_.enabled) started_.push_back({now, tokens, fresh});
  }

  /// Tokens and number of those that started within the window that ends with the sixteenth of `now`.
  struct sums {
    wide fresh = 0;
    wide again = 0;
    std::int64_t count = 0;
  };
  [[nodiscard]] sums add_up(instant now) const {
    sums all;
    for (const auto& [at, tokens, fresh] : started_) {
      if (sixteenth(now) - sixteenth(at) >= 16) continue;
      (fresh ? all.fresh : all.again) += tokens;
      all.count += fresh ? 0 : 1;
    }
    return all;
  }

  /// Beside those in `there`, which are all that started and wait.
  [[nodiscard]] bool allows(const sums& there, std::int64_t tokens) const {
    if (!rules_.enabled || there.count + 1 <= rules_.minimum) return true;
    return static_cast<double>(there.again + tokens) <= rules_.share * static_cast<double>(there.fresh);
  }

 private:
  struct one_start {
    instant at;
    std::int64_t tokens;
    bool fresh;
  };
  [[nodiscard]] std::int64_t sixteenth(instant at) const {
    return at.time_since_epoch().count() / std::max<std::int64_t>(1, rules_.window.count() / 16);
  }

  retry_budget rules_{};
  std::vector<one_start> started_;
};

}  // namespace sluice::core::testing
