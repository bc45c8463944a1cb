#include "llm/reservation.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::llm::detail {

namespace {

expected<void, failure> check(const cost& asked, const char* source) {
  const bool holds = asked.tokens >= 0 && asked.slots > 0 && asked.output_tokens >= 0 && asked.output_tokens <= asked.tokens;
  if (holds) return {};
  return unexpected<failure>(failure(
      errc::invalid_argument, std::string(source) + " gave tokens = " + std::to_string(asked.tokens) + ", output_tokens = " +
                                  std::to_string(asked.output_tokens) + ", slots = " + std::to_string(asked.slots) +
                                  "; none may be negative, slots not 0, output_tokens not above tokens"));
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

/// The gate knows tokens; the caller knows the limit that most of them come from.
std::string with_limit(std::string explained, std::int64_t limit) {
  constexpr std::string_view advice = "; ask for less";
  const std::string told = " (max_tokens = " + grouped(limit) + ")";
  const std::size_t at = explained.find(advice);
  if (at == explained.npos) return explained + told;
  return explained.replace(at, advice.size(), told + "; lower max_tokens");
}

}  // namespace

expected<reservation, failure> reserve(const request& asked, const call_options& how, const client_options& rules,
                                       learned_usage&) {
  const cost wanted = how.reservation ? *how.reservation : rules.estimator(asked);
  if (auto holds = check(wanted, how.reservation ? "the call's reservation" : "the estimator"); !holds) {
    return unexpected<failure>(holds.error());
  }
  reservation made;
  made.asked = wanted;
  made.output_limit = asked.max_output_tokens.value_or(0);
  made.input_tokens = wanted.tokens - wanted.output_tokens;
  if (wanted.output_tokens == 0) {
    const cost guess = character_estimator()(asked);
    made.input_tokens = std::min(wanted.tokens, guess.tokens - guess.output_tokens);
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
  } else if (why.reason() == reason::impossible && reserved.output_limit > 0) {
    message = with_limit(std::move(message), reserved.output_limit);
  }
  failure failed(kind, std::move(message), call_phase::queued);
  failed.refusal = std::move(why);
  return failed;
}

}  // namespace sluice::llm::detail
