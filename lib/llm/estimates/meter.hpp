/// \file
/// `meter`: a permit, and the account of what its exchange takes.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/request.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/runtime/permit.hpp>

#include "llm/dialects/usage_report.hpp"
#include "llm/estimates/output_counter.hpp"
#include "llm/estimates/reservation.hpp"

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
  /// The same by the answer so far, and the bytes of all that has come of it; nothing as long as it says nothing.
  void saw(const reply& so_far, std::int64_t produced_bytes);
  /// The provider's own figures so far; the last ones hold. What they leave out stays an estimate, and until `complete`
  /// they are no less than what was seen since.
  void reported(const usage_report& figures);

  /// What was taken, as far as is known now.
  [[nodiscard]] token_usage taken() const noexcept;

  /// The answer has come to its end: what was reported is the last word, and the exchange a sample of what such
  /// exchanges take.
  void complete() noexcept { complete_ = true; }
  /// Settles. Harmless when it has ended.
  void end() noexcept;

 private:
  [[nodiscard]] std::int64_t input() const noexcept;
  void reconcile();

  permit held_;
  reservation reserved_;
  std::int64_t every_;
  output_counter seen_;
  std::int64_t output_ = 0;
  std::int64_t reconciled_ = 0;
  std::optional<usage_report> reported_;
  bool prompt_done_ = false;
  bool complete_ = false;
};

}  // namespace sluice::llm::detail
