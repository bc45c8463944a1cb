/// \file
/// `meter`: a permit, and the account of what its exchange takes.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/request.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/runtime/permit.hpp>

#include "llm/reservation.hpp"
#include "llm/usage_report.hpp"

#include <cstdint>
#include <optional>

namespace sluice::llm::detail {

/// Reconciles the permit's hold while tokens come, and settles it when it ends: by what the provider reports, else by
/// what was seen. Ends in the destructor at the latest, so that no way out of a coroutine can leave the permit behind.
class meter {
 public:
  meter(permit held, const reservation& reserved, std::int64_t reconcile_every) noexcept
      : held_(std::move(held)), reserved_(reserved), every_(reconcile_every) {}
  meter(meter&&) noexcept = default;
  meter& operator=(meter&&) = delete;
  ~meter() { end(); }

  [[nodiscard]] permit& held() noexcept { return held_; }

  /// The prompt has been processed; `output` tokens have been produced so far, by estimate.
  void produced(std::int64_t output);
  /// The provider's own figures; the last ones hold. What they leave out stays an estimate.
  void reported(const usage_report& figures);

  /// What was taken, as far as is known now.
  [[nodiscard]] token_usage taken() const noexcept;

  /// The answer has come to its end: the exchange is a sample of what such exchanges take.
  void complete() noexcept { complete_ = true; }
  /// Settles. Harmless when it has ended.
  void end() noexcept;

 private:
  [[nodiscard]] std::int64_t input() const noexcept;
  void reconcile();

  permit held_;
  reservation reserved_;
  std::int64_t every_;
  std::int64_t output_ = 0;
  std::int64_t reconciled_ = 0;
  std::optional<usage_report> reported_;
  bool prompt_done_ = false;
  bool complete_ = false;
};

}  // namespace sluice::llm::detail
