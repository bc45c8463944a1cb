/// \file
/// `chat_decoder`: answers of OpenAI's chat completions, and of those who imitate them, plain and streamed. Pure: no I/O.
#pragma once

#include <sluice/core/expected.hpp>
#include <sluice/llm/failure.hpp>
#include <sluice/llm/reply.hpp>
#include <sluice/llm/stream_event.hpp>

#include "llm/answer_decoder.hpp"
#include "llm/tool_call_assembler.hpp"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::llm {

/// One answer under way.
class chat_decoder final : public answer_decoder {
 public:
  /// `secret` is kept out of what failures quote, and must outlive the decoder.
  explicit chat_decoder(std::string_view secret) : secret_(secret) {}

  [[nodiscard]] expected<bool, failure> event(const sse_event& from, std::vector<stream_event>& out) override;

  /// One chunk of a stream. `json` must have `simdjson::SIMDJSON_PADDING` readable bytes after it. What it brings is added to
  /// `answer`; texts are appended to `out` as events. Chunks that hold nothing for us bring nothing.
  /// Errors: `errc::protocol_error` for what is no JSON object, and whatever an error object in it says.
  expected<void, failure> chunk(std::string_view json, std::vector<stream_event>& out);

  /// A whole plain answer; else as `chunk`. An object without choices is a `protocol_error`.
  [[nodiscard]] expected<void, failure> document(std::string_view json, std::vector<stream_event>& out) override;

  void complete() override;

 private:
  using value = simdjson::ondemand::value;
  using object = simdjson::ondemand::object;

  expected<void, failure> read(std::string_view json);
  [[nodiscard]] failure broken(std::string_view json, simdjson::error_code why) const;

  simdjson::error_code choices(value from);
  simdjson::error_code choice(object from);
  simdjson::error_code delta(value from);
  simdjson::error_code content(value from, stream_event::kind which);
  simdjson::error_code tool_calls(value from);
  simdjson::error_code tool_call_part(object from);
  simdjson::error_code usage(value from);
  void text(std::string_view said, stream_event::kind which);

  std::string_view secret_;
  simdjson::ondemand::parser parser_;
  tool_call_assembler calls_;
  std::vector<stream_event>* out_ = nullptr;
  bool choice_seen_ = false;
};

}  // namespace sluice::llm
