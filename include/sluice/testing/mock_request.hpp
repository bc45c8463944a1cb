/// \file
/// `mock_request`: a chat request as a mock provider received it.
#pragma once

#include <sluice/http/transport.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::testing {

/// What came in, and what the provider understood of it. A plain value.
class mock_request {
 public:
  mock_request() = default;

  std::string method;
  /// Path and query, as sent.
  std::string target;
  /// As sent, except that the value of `authorization` and `api-key` is `***`.
  std::vector<http::header> headers;
  std::string body;
  /// Counts from 1 in order of arrival, over all requests of the provider.
  std::uint64_t number = 0;

  std::string model;
  bool stream = false;
  /// `stream_options.include_usage` was asked for.
  bool include_usage = false;
  /// How many messages, and the text of the last one (of all its text parts).
  std::size_t messages = 0;
  std::string last_text;
  /// The role of the last message: `user`, `tool`, ...
  std::string last_role;
  /// How many tools are offered.
  std::size_t tools = 0;
  /// `max_completion_tokens`, else `max_tokens`; negative when neither was given.
  std::int64_t max_output_tokens = -1;

  /// The prompt's size. Exactly what the header `x-mock-input-tokens` says, else what the field `user` says when it
  /// holds `in=N`, else a quarter of the characters of messages and tools, rounded up.
  std::int64_t input_tokens = 0;
  /// The answer's size as the header `x-mock-output-tokens` or `out=N` in the field `user` wants it; negative when
  /// neither is there. A reply that was scripted with a text of its own ignores it.
  std::int64_t wanted_output_tokens = -1;

  /// The first header of that name, without regard to case; empty when there is none.
  [[nodiscard]] std::string_view header_value(std::string_view name) const noexcept;
};

}  // namespace sluice::testing
