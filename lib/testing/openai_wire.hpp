/// \file
/// OpenAI chat completions, from the provider's side: reading requests, writing answers, events and errors.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/testing/mock_request.hpp>

#include "testing/answer_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::testing {

/// A refusal in OpenAI's form.
class wire_error {
 public:
  wire_error(int http_status, std::string text, std::string kind, std::string short_code = {})
      : status(http_status), message(std::move(text)), type(std::move(kind)), code(std::move(short_code)) {}

  int status;
  std::string message;
  std::string type;
  /// Empty: null.
  std::string code;
};

/// The error that OpenAI gives with a status; an empty `message` leaves it its usual one.
[[nodiscard]] wire_error usual_error(int status, std::string message = {}, bool quota = false);
[[nodiscard]] std::string error_body(const wire_error& error);
[[nodiscard]] std::string models_body(const std::vector<std::string>& names);

/// Understands `request.body` and fills in what it says; or tells what is wrong with it.
[[nodiscard]] std::optional<wire_error> read_chat(mock_request& request);

/// `1`, `0.25`: seconds as in `retry-after`.
[[nodiscard]] std::string decimal_seconds(duration length);
/// `0s`, `20ms`, `1.5s`, `6m0s`, `1h2m3s`: as in `x-ratelimit-reset-*`.
[[nodiscard]] std::string go_duration(duration length);

/// What was used.
struct wire_usage {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t reasoning = 0;
};

/// The plain answer: the first `count` tokens of `plan`.
[[nodiscard]] std::string plain_body(std::string_view id, std::string_view model, const answer_plan& plan,
                                     std::size_t count, std::optional<wire_usage> used);

/// The events of one streamed answer, each ready to be sent.
class chat_events {
 public:
  chat_events(std::string_view id, std::string_view model, bool usage_asked, std::string_view line_end);

  [[nodiscard]] std::string role() const;
  /// Tokens `[from, to)` of `plan`; neighbours of one kind share an event.
  [[nodiscard]] std::string tokens(const answer_plan& plan, std::size_t from, std::size_t to) const;
  [[nodiscard]] std::string finish(std::string_view reason) const;
  [[nodiscard]] std::string usage(wire_usage used) const;
  [[nodiscard]] std::string failure(const wire_error& error) const;
  [[nodiscard]] std::string bad_json() const;
  [[nodiscard]] std::string done() const;

 private:
  [[nodiscard]] std::string event(std::string_view data) const;
  [[nodiscard]] std::string choice(std::string_view delta, std::string_view reason) const;

  std::string front_;
  bool usage_asked_;
  std::string_view line_end_;
};

}  // namespace sluice::testing
