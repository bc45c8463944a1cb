#include "llm/estimates/reservation.hpp"

#include <sluice/core/key.hpp>
#include <sluice/llm/text_profile.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::llm::detail {

namespace {

expected<void, failure> check(const cost& asked, const char* source) {
  const bool holds =
      asked.tokens >= 0 && asked.slots > 0 && asked.output_tokens >= 0 && asked.output_tokens <= asked.tokens;
  if (holds) return {};
  return unexpected<failure>(
      failure(errc::invalid_argument, std::string(source) + " gave tokens = " + std::to_string(asked.tokens) +
                                          ", output_tokens = " + std::to_string(asked.output_tokens) +
                                          ", slots = " + std::to_string(asked.slots) +
                                          "; none may be negative, slots not 0, output_tokens not above tokens"));
}

constexpr std::int64_t most = std::int64_t{1} << 62;

std::int64_t sum(std::int64_t left, std::int64_t right) noexcept {
  std::int64_t total = 0;
  return __builtin_add_overflow(left, right, &total) ? most : std::min(total, most);
}

/// The gate takes what is reserved for an answer for its limit; this request has none.
std::string without_limit(std::string explained) {
  constexpr std::string_view figure = "(max_tokens = ";
  constexpr std::string_view advice = "lower max_tokens";
  if (const std::size_t at = explained.find(figure); at != explained.npos) {
    explained.replace(at, figure.size(), "(reserved for an answer without limit: ");
  }
  if (const std::size_t at = explained.find(advice); at != explained.npos) {
    explained.replace(at, advice.size(), "set max_tokens");
  }
  return explained;
}

/// Which answers an answer is like, as far as their length goes.
std::uint64_t kind_of(const request& asked, const call_options& how) noexcept {
  constexpr std::uint64_t spread = 0x9E3779B97F4A7C15U;
  std::uint64_t kind = key_of(asked.model);
  for (const std::uint64_t part :
       {std::uint64_t{how.workload.index()}, std::uint64_t{asked.max_output_tokens.has_value()},
        key_of(asked.reasoning_effort)}) {
    kind = (kind ^ part) * spread;
    kind ^= kind >> 29U;
  }
  return kind == 0 ? 1 : kind;
}

std::int64_t times(std::int64_t left, std::int64_t right) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(left, right, &product) ? most : std::min(product, most);
}

std::int64_t output_of_one(const request_size& size, const client_options& rules, const reservation& made) {
  const bool limited = made.output_limit > 0;
  const std::optional<double> share = limited ? rules.output_quantile : rules.unlimited_output_quantile;
  std::int64_t output = size.output;
  if (made.pupil != nullptr && share) {
    if (const auto usual = made.pupil->output_quantile(made.output_kind, *share)) {
      output = limited ? std::min(output, *usual) : *usual;
    }
  }
  // Its requests never go without a limit.
  if (!limited && rules.spoken == dialect::anthropic_messages) output = std::min(output, rules.default_max_tokens);
  return output;
}

void estimate(const request& asked, const character_estimator& by, const client_options& rules, reservation& made) {
  const request_size size = by.measure(asked);
  const double correction = made.pupil != nullptr ? made.pupil->correction(made.model) : 1;
  const std::int64_t text = correction == 1 ? size.text : whole_tokens(static_cast<double>(size.text) * correction);
  const std::int64_t output = times(output_of_one(size, rules, made), size.answers);
  made.asked.output_tokens = output;
  made.asked.tokens = sum(sum(text, size.attachments), output);
  // What pictures really take says nothing about words; the outputs of several answers come as one number.
  if (size.attachments == 0) made.uncorrected_input = size.text;
  if (size.answers > 1) made.output_kind = 0;
}

}  // namespace

expected<reservation, failure> reserve(const request& asked, const call_options& how, const client_options& rules,
                                       learned_usage& learned) {
  reservation made;
  made.model = key_of(asked.model);
  made.output_limit = asked.max_output_tokens.value_or(0);
  const character_estimator* const built_in = rules.estimator.target<character_estimator>();
  made.ratios = built_in != nullptr && built_in->ratios ? &*built_in->ratios : &ratios_for(asked.model);
  if (built_in != nullptr && rules.learn_from_usage) {
    made.pupil = &learned;
    made.output_kind = kind_of(asked, how);
  }
  if (how.reservation) {
    made.asked = *how.reservation;
  } else if (built_in != nullptr) {
    estimate(asked, *built_in, rules, made);
  } else {
    made.asked = rules.estimator(asked);
  }
  if (auto holds = check(made.asked, how.reservation ? "the call's reservation" : "the estimator"); !holds) {
    return unexpected<failure>(std::move(holds).error());
  }
  made.input_tokens = made.asked.tokens - made.asked.output_tokens;
  if (made.asked.output_tokens == 0) {
    const cost guess = character_estimator()(asked);
    made.input_tokens = std::min(made.asked.tokens, guess.tokens - guess.output_tokens);
  }
  return made;
}

void reservation::learn(const usage& reported) const noexcept {
  if (pupil == nullptr) return;
  if (uncorrected_input > 0) pupil->saw_input(model, uncorrected_input, reported.input_tokens);
  if (output_kind != 0) {
    pupil->saw_output(output_kind, reported.output_tokens, output_limit > 0 && reported.output_tokens >= output_limit);
  }
}

failure turned_away(rejection why, const reservation& reserved) {
  errc kind = errc::refused;
  std::string message = why.explain();
  if (why.reason() == reason::deadline_in_queue || why.reason() == reason::deadline_passed) {
    kind = errc::deadline_exceeded;
    message = "the deadline passed before the call was admitted, and nothing was sent: " + message;
  } else if (why.reason() == reason::cancelled) {
    kind = errc::cancelled;
  } else if (why.reason() == reason::impossible && reserved.output_limit == 0) {
    message = without_limit(std::move(message));
  }
  failure failed(kind, std::move(message), call_phase::queued);
  failed.refusal = std::move(why);
  return failed;
}

}  // namespace sluice::llm::detail
