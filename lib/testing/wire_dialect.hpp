/// \file
/// `wire_dialect`: one provider's interface, from the provider's side: reading requests, writing answers and errors.
#pragma once

#include <sluice/core/time.hpp>
#include <sluice/http/transport.hpp>
#include <sluice/testing/mock_dialect.hpp>
#include <sluice/testing/mock_request.hpp>

#include "testing/answer_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::testing {

/// Why a request is turned away, or an answer broken off.
class wire_error {
 public:
  wire_error(int http_status, std::string text, std::string kind, std::string short_code = {}, std::string field = {})
      : status(http_status),
        message(std::move(text)),
        type(std::move(kind)),
        code(std::move(short_code)),
        param(std::move(field)) {}

  int status;
  std::string message;
  std::string type;
  /// Of OpenAI's errors; empty: null.
  std::string code;
  std::string param;
};

/// What was used. `input` is the whole prompt; `cached` and `cache_written` are parts of it, `reasoning` is one of
/// `output`.
struct wire_usage {
  std::int64_t input = 0;
  std::int64_t cached = 0;
  std::int64_t cache_written = 0;
  std::int64_t output = 0;
  std::int64_t reasoning = 0;
};

/// Where a provider departs from the form.
struct wire_habits {
  /// Empty in the place of what is usual: `reasoning_content`.
  std::string reasoning_field;
  std::string_view line_end = "\n";
  bool no_usage = false;
  bool usage_in_last_chunk = false;
  bool no_finish_reason = false;
  bool whole_tool_calls = false;
};

/// One answer, as far as all dialects tell of it.
struct wire_answer {
  std::uint64_t number = 0;
  std::string model;
  answer_plan plan;
  wire_habits habits;
  bool include_usage = false;
  /// What the answer stops at, if it is said to stop there.
  std::string stop_sequence;
  bool encrypted_reasoning = false;
};

/// How busy the provider is, for the headers.
struct wire_load {
  std::int64_t limit_requests = 0;
  std::int64_t free_requests = 0;
  std::int64_t limit_tokens = 0;
  std::int64_t free_tokens = 0;
  duration retry_after{};
};

/// The events of one streamed answer, each text ready to be sent. Called in the order of the functions.
class wire_events {
 public:
  wire_events() = default;
  wire_events(const wire_events&) = delete;
  wire_events& operator=(const wire_events&) = delete;
  virtual ~wire_events() = default;

  [[nodiscard]] virtual std::string begin(const wire_usage& used) = 0;
  /// Tokens `[from, to)` of the plan; neighbours of one kind share an event.
  [[nodiscard]] virtual std::string tokens(std::size_t from, std::size_t to) = 0;
  [[nodiscard]] virtual std::string finish(const wire_usage& used) = 0;
  /// What tells that the stream is complete.
  [[nodiscard]] virtual std::string end_mark(const wire_usage& used) = 0;

  /// In place of the rest.
  [[nodiscard]] virtual std::string failure(const wire_error& error) = 0;
  /// At any time after `begin`.
  [[nodiscard]] virtual std::string bad_json() = 0;
};

/// Without state: one object a dialect.
class wire_dialect {
 public:
  wire_dialect() = default;
  wire_dialect(const wire_dialect&) = delete;
  wire_dialect& operator=(const wire_dialect&) = delete;
  virtual ~wire_dialect() = default;

  /// Understands `request.body` and fills in what it says; or tells what is wrong with it, as the real one would.
  [[nodiscard]] virtual std::optional<wire_error> read(mock_request& request) const = 0;

  /// The error that goes with a status; an empty `message` leaves it its usual one.
  [[nodiscard]] virtual wire_error usual_error(int status, std::string message = {}, bool quota = false) const = 0;
  [[nodiscard]] virtual std::string error_body(const wire_error& error, std::string_view request_id) const = 0;
  [[nodiscard]] virtual std::string models_body(const std::vector<std::string>& names) const = 0;
  /// Those of every answer.
  [[nodiscard]] virtual std::vector<http::header> headers(const wire_load& load, std::string_view request_id) const = 0;

  /// The plain answer: the first `count` tokens.
  [[nodiscard]] virtual std::string body(const wire_answer& answer, std::size_t count,
                                         const wire_usage& used) const = 0;
  /// `answer` must outlive them.
  [[nodiscard]] virtual std::unique_ptr<wire_events> events(const wire_answer& answer) const = 0;
};

[[nodiscard]] const wire_dialect& wire_dialect_of(mock_dialect which) noexcept;

/// Whose path that is (without query).
[[nodiscard]] std::optional<mock_dialect> dialect_of_path(std::string_view path) noexcept;

/// Each in a file of its own.
[[nodiscard]] const wire_dialect& chat_wire() noexcept;
[[nodiscard]] const wire_dialect& responses_wire() noexcept;
[[nodiscard]] const wire_dialect& messages_wire() noexcept;

}  // namespace sluice::testing
