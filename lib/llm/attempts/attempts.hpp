/// \file
/// `attempts`: what has become of the attempts of one call, and whether there is another.
#pragma once

#include <sluice/core/attempt.hpp>
#include <sluice/core/time.hpp>
#include <sluice/llm/client_options.hpp>
#include <sluice/llm/failure.hpp>

#include "llm/attempts/endpoint.hpp"

#include <asio/awaitable.hpp>

#include <optional>
#include <string>

namespace sluice::llm::detail {

/// The rules of `retry_policy`, for calls of every kind. The permit of an attempt has ended before anything here is
/// asked.
class attempts {
 public:
  attempts(endpoint& where, const call_options& how) noexcept;

  /// What the present attempt is.
  [[nodiscard]] attempt kind() const noexcept { return kind_; }
  /// What it asks for admission as: work that was preempted is neither a retry nor a hedge when it comes again.
  [[nodiscard]] attempt admitted_as() const noexcept { return preempted_ ? attempt::first : kind_; }

  /// It goes out.
  void sent();

  /// Whether another attempt follows this failure, after `wait`. If not, `why` is made into the failure of the call.
  /// `possible`: whether there can be one at all, which there cannot when a part of the answer was handed out.
  [[nodiscard]] bool again(failure& why, bool possible);
  /// How long it will be until the next attempt, as far as is known.
  [[nodiscard]] duration wait_ahead() const;
  /// Waits. False when it was cancelled, or its run closed.
  [[nodiscard]] asio::awaitable<bool> wait();
  /// The failure of a call that `wait` gave up.
  [[nodiscard]] failure cancelled() const;

 private:
  [[nodiscard]] failure not_admitted(failure refused) const;
  [[nodiscard]] failure given_up(const char* words) const;
  /// Why there is no other attempt; empty when there is.
  [[nodiscard]] std::string objection(const failure& why, bool under_load, instant pause);

  endpoint* where_;
  instant deadline_;
  int most_;
  run_id run_;
  bool requeue_;
  bool run_closed_ = false;
  attempt kind_;
  bool preempted_ = false;
  instant sent_at_ = instant::min();
  int sent_ = 0;
  int failed_ = 0;
  /// When the next attempt may ask for admission, and when the pause that it will then find ends.
  instant wake_ = instant::min();
  instant pause_ = instant::min();
  std::optional<failure> first_;
  /// What those that failed have taken.
  token_usage spent_{};
};

}  // namespace sluice::llm::detail
