/// \file
/// `reservation`: what a call reserves, and what its end may teach.
#pragma once

#include <sluice/core/cost.hpp>
#include <sluice/core/expected.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/request.hpp>

#include "llm/estimates/learned_usage.hpp"

#include <cstdint>
#include <type_traits>

namespace sluice::llm::detail {

/// Numbers alone, and where to learn.
struct reservation {
  cost asked{};
  /// The part of it that is the prompt, by estimate.
  std::int64_t input_tokens = 0;
  /// The limit on the output of one answer that goes with the request; zero: none.
  std::int64_t output_limit = 0;
  /// By which the output is counted while it comes; as long-lived as the options.
  const text_ratios* ratios = &families::generic;

  /// Who learns from the exchange when it has ended well: nobody, as a rule, when the caller estimates. It must live
  /// until then.
  learned_usage* pupil = nullptr;
  std::uint64_t model = 0;
  /// The prompt as it was estimated, uncorrected; zero when it teaches nothing.
  std::int64_t uncorrected_input = 0;
  /// Of the output; zero when it teaches nothing.
  std::uint64_t output_kind = 0;

  /// What the provider counted for a whole answer.
  void learn(const usage& reported) const noexcept;
};
static_assert(std::is_trivially_destructible_v<reservation>);

/// What to reserve for a request: what the call says, else the estimate, corrected by what was learned; checked.
/// Errors: `errc::invalid_argument` for numbers that do not hold.
[[nodiscard]] expected<reservation, failure> reserve(const request& asked, const call_options& how,
                                                     const client_options& rules, learned_usage& learned);

/// A rejection as a failure, in words that know whether the request has a limit on its output.
[[nodiscard]] failure turned_away(rejection why, const reservation& reserved);

}  // namespace sluice::llm::detail
