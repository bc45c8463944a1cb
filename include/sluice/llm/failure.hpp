/// \file
/// `failure`: why a call to a model gave no whole answer, and what there is all the same.
#pragma once

#include <sluice/core/decision.hpp>
#include <sluice/core/error.hpp>
#include <sluice/core/request.hpp>
#include <sluice/core/time.hpp>
#include <sluice/llm/reply.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::llm {

/// How far a call had come.
enum class call_phase : std::uint8_t {
  /// Nothing was asked for: the request or an estimate does not hold.
  preparing,
  /// It waited for admission; nothing was sent.
  queued,
  /// It was sent, or on its way: connecting, or waiting for the first byte. The message says which.
  sent,
  /// The answer was coming.
  answering,
};

[[nodiscard]] std::string_view to_string(call_phase value) noexcept;

/// What the caller can do about a failure.
enum class remedy : std::uint8_t {
  /// Ask again, later or elsewhere: a lost connection, a limit on time, a provider that fails or is overloaded. The
  /// client has done so already, as often as `retry_policy` lets it.
  try_again,
  /// Ask again when the capacity is there, with more of it, or in a class that has more: refused by admission,
  /// preempted.
  wait_for_capacity,
  /// Give it more time: its deadline passed, or is too near.
  more_time,
  /// Mend the request: it does not hold, is too long, or was filtered.
  change_request,
  /// Mend the account or the settings: the key, the quota, the address, the class, the run and its budget.
  change_settings,
  /// Nothing: the caller itself gave up, or closed the bulkhead.
  none,
};

[[nodiscard]] std::string_view to_string(remedy value) noexcept;

/// Why there is no whole answer. A plain value.
///
/// Codes: `refused` (admission; see `refusal`), `deadline_exceeded` (in whatever phase), `preempted`, `cancelled`,
/// `invalid_argument`, what the transport says (`connect_failed` to `too_large`; `invalid_configuration` for a proxy
/// that wants other credentials), and what the provider says: `rate_limited`, `overloaded`, `provider_failed`,
/// `provider_refused`, `unauthorized`, `content_filtered`, `context_too_long`, `quota_exhausted`, `protocol_error`.
class failure {
 public:
  explicit failure(error reason, call_phase when = call_phase::preparing) : phase(when), why(std::move(reason)) {}
  failure(errc code, std::string message, call_phase when = call_phase::preparing)
      : phase(when), why(code, std::move(message)) {}

  [[nodiscard]] const std::error_code& code() const noexcept { return why.code(); }
  /// One line, for people. What it quotes of the provider is bounded, and the key is never in it.
  [[nodiscard]] const std::string& message() const noexcept { return why.message(); }
  [[nodiscard]] bool is(errc kind) const noexcept { return why.is(kind); }
  /// What the caller can do about it.
  [[nodiscard]] remedy what_helps() const noexcept;

  /// How far it had come.
  call_phase phase;
  error why;
  /// When admission said no: the whole of it.
  std::optional<rejection> refusal;
  /// When the call was preempted: its age. With it as `call_options::age` the call may come again without losing its
  /// place.
  sluice::age age{};
  /// The answer's HTTP status; zero when there was no answer.
  int status = 0;
  /// The provider's own code or type for it, such as `insufficient_quota`; empty when it gave none.
  std::string provider_code;
  /// What the provider asks to wait before the next attempt.
  std::optional<duration> retry_after;
  /// What the provider says about another attempt (`x-should-retry`), if it says anything.
  std::optional<bool> should_retry;
  /// How many attempts were sent. The failure is the last one's; or the first one's, when another attempt was not
  /// admitted, for want of room for retries or anything else.
  int attempts = 0;
  /// The provider's name for the exchange, for its support.
  std::string request_id;
  /// What the attempts that failed have taken, all together: as the provider reported it, else by what was seen of
  /// their answers (`estimated`). An attempt of whose answer nothing came, and of which nothing was reported, counts as
  /// nothing.
  token_usage usage;
  /// What had come of the answer before it failed, if anything had; tool calls that were not whole are not in it.
  std::optional<reply> partial;
};

}  // namespace sluice::llm
