/// \file
/// `chat_decoder`: answers of OpenAI's chat completions, and of those who imitate them, plain and streamed. Pure: no
/// I/O.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/dialects/json_decoder.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace sluice::llm {

/// One answer under way.
class chat_decoder final : public json_decoder {
 public:
  /// `hidden` is kept out of what failures quote.
  explicit chat_decoder(secrets hidden) : json_decoder(std::move(hidden)) {}

  [[nodiscard]] expected<bool, failure> event(const sse_event& from, std::vector<stream_event>& out) override;

  /// One chunk of a stream. `json` must have `sse_parser::padding` readable bytes after it. What it brings is added to
  /// `answer`; texts are appended to `out` as events. Chunks that hold nothing for us bring nothing.
  /// Errors: `errc::protocol_error` for what is no JSON object, and whatever an error object in it says.
  expected<void, failure> chunk(std::string_view json, std::vector<stream_event>& out);

  /// A whole plain answer; else as `chunk`. An object without choices is a `protocol_error`.
  [[nodiscard]] expected<void, failure> document(std::string_view json, std::vector<stream_event>& out) override;

 private:
  simdjson::error_code member(std::string_view key, value from, std::string_view whole);
  simdjson::error_code choices(value from);
  simdjson::error_code choice(object from);
  simdjson::error_code delta(value from);
  simdjson::error_code content(value from, stream_event::kind which);
  simdjson::error_code tool_calls(value from);
  simdjson::error_code tool_call_part(object from);
  simdjson::error_code only_call(value from);
  simdjson::error_code function(value from, tool_call_fragment& part);
  simdjson::error_code usage(value from);

  bool choice_seen_ = false;
};

}  // namespace sluice::llm
