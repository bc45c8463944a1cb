/// \file
/// `gate_hold`: keeps the state behind a bulkhead for what has to be ended there later. Not for users.
#pragma once

#include <sluice/core/run.hpp>
#include <sluice/runtime/detail/gate_access.hpp>

#include <optional>

namespace sluice {
class bulkhead;
}

namespace sluice::detail {

/// Thread-safe. May outlive the bulkhead, and the context of its executor.
class gate_hold {
 public:
  explicit gate_hold(const bulkhead& of) noexcept;
  gate_hold(const gate_hold&) = delete;
  gate_hold& operator=(const gate_hold&) = delete;
  ~gate_hold();

  /// As the members of `bulkhead`. With `hold` the account can be read until the run is closed once more without.
  bool close_run(run_id which, bool hold = false);
  [[nodiscard]] std::optional<run_balance> balance(run_id which) const;

 private:
  gate* gate_;
};

}  // namespace sluice::detail
