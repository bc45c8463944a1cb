/// \file
/// `mock_request`: a request for an answer as a mock provider received it.
#pragma once

#include <sluice/http/transport.hpp>
#include <sluice/testing/mock_dialect.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::testing {

/// What a tool gave, as the client tells it.
class mock_tool_result {
 public:
  mock_tool_result(std::string id, std::string said, bool failed = false)
      : call_id(std::move(id)), text(std::move(said)), is_error(failed) {}

  std::string call_id;
  std::string text;
  /// Only Anthropic's requests can say so.
  bool is_error;
};

/// What came in, and what the provider understood of it. A plain value.
class mock_request {
 public:
  mock_request() = default;

  std::string method;
  /// Path and query, as sent.
  std::string target;
  /// As sent, except that the value of `authorization`, `api-key` and `x-api-key` is `***`.
  std::vector<http::header> headers;
  std::string body;
  /// Counts from 1 in order of arrival, over all requests of the provider.
  std::uint64_t number = 0;

  mock_dialect dialect = mock_dialect::openai_chat;
  std::string model;
  bool stream = false;
  /// `stream_options.include_usage` was asked for; only chat completions know it.
  bool include_usage = false;
  /// What the system, the developer or the instructions say; several texts are joined by line feeds.
  std::string system;
  /// How many messages, or items of the input; and the text of the last one (of all its text parts).
  std::size_t messages = 0;
  std::string last_text;
  /// The role of the last message: `user`, `assistant`, ...; `tool` when it brings the result of a tool, in each
  /// dialect.
  std::string last_role;
  /// The results that came after the model's last words, in order.
  std::vector<mock_tool_result> tool_results;
  /// The reasoning was asked for in its encrypted form too; only Responses knows it.
  bool encrypted_reasoning = false;
  /// How many tools are offered.
  std::size_t tools = 0;
  /// How many images, documents, files and sounds there are.
  std::size_t attachments = 0;
  /// `max_completion_tokens`, else `max_tokens`; `max_output_tokens` of Responses; negative when none was given.
  std::int64_t max_output_tokens = -1;
  /// At which texts the answer is to stop. Told, not obeyed.
  std::vector<std::string> stop;

  /// What an image, a document, a file or a sound counts.
  static constexpr std::int64_t tokens_per_attachment = 1'000;
  /// The prompt's size. Exactly what the header `x-mock-input-tokens` says, else what the field `user` (Anthropic:
  /// `metadata.user_id`) says when it holds `in=N`, else a quarter of the characters of system, messages and tools,
  /// rounded up, and the attachments.
  std::int64_t input_tokens = 0;
  /// The answer's size as the header `x-mock-output-tokens` or `out=N` in that field wants it; negative when
  /// neither is there. A reply that was scripted with a text of its own ignores it.
  std::int64_t wanted_output_tokens = -1;

  /// The first header of that name, without regard to case; empty when there is none.
  [[nodiscard]] std::string_view header_value(std::string_view name) const noexcept;
};

}  // namespace sluice::testing
